import threading
import time

turns = [threading.Event() for _ in range(4)]


def work(number):
    turns[number].wait()
    time.sleep(0.02)
    print("thread", number)
    open(f"outputs/{number}.txt", "w").write(str(number))
    turns[number + 1].set()


def main():
    for number in range(3):
        threading.Thread(target=work, args=(number,)).start()
    print("main returns")
    turns[0].set()
    return "returned"
