import queue
import threading

local = threading.local()
total = 0
lock = threading.Lock()


def work(jobs, number):
    global total
    local.number = number
    while True:
        try:
            job = jobs.get_nowait()
        except queue.Empty:
            return
        with lock:
            total += job
        assert local.number == number


def main():
    jobs = queue.Queue()
    for number in range(1000):
        jobs.put(number)
    threads = [threading.Thread(target=work, args=(jobs, number), name=f"worker-{number}") for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    timer = threading.Timer(0.01, print, ["timer"])
    timer.start()
    timer.join()
    return [total, hasattr(local, "number"), threading.Thread().name]
