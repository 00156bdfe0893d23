import os
import time

if os.fork() == 0:
    os.setsid()
    time.sleep(30)
    os._exit(0)
print("parent ends")
