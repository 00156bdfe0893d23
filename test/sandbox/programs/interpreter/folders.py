import os
import stat


def describe(path):
    status = os.lstat(path)
    return [stat.filemode(status.st_mode), status.st_uid, status.st_gid]


def main():
    places = ("/", "/app", "/app/outputs", "/app/inputs", "/app/inputs.json", "/app/main.py", "/commit", "/tmp", "/dev/shm", "/dev/null", "/etc/passwd")
    return {
        "places": {place: describe(place) for place in places},
        "root": sorted(name for name in os.listdir("/") if name not in ("lane",)),
        "shm": os.listdir("/dev/shm"),
        "tmp": os.listdir("/tmp"),
        "sizes": {place: os.statvfs(place).f_blocks * os.statvfs(place).f_frsize for place in ("/app", "/tmp", "/dev/shm")},
    }
