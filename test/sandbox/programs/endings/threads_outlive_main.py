import threading
import time


def work(number):
    time.sleep(0.05 * number)
    print("thread", number)
    open(f"outputs/{number}.txt", "w").write(str(number))


def main():
    for number in range(3):
        threading.Thread(target=work, args=(number,)).start()
    print("main returns")
    return "returned"
