import os
import signal
import time

print("before", flush=True)
os.kill(os.getpid(), signal.SIGPIPE)
time.sleep(0.05)
print("after")
