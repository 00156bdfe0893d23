import threading


def work():
    raise ValueError("in a thread")


def main():
    thread = threading.Thread(target=work, name="worker")
    thread.start()
    thread.join()
    return "main went on"
