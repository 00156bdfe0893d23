"""Marks in every place that can be written, looked for by the next execution."""

from siege import INPUTS, finish, got, os

NAME = "/." + INPUTS["name"]


def places():
    found = {"/tmp", "/app", "/dev/shm", "/app/outputs", "/app/inputs", "/var/tmp", "/dev/mqueue", "/run", "/lane", "/"}
    for line in open("/proc/self/mountinfo"):
        found |= {line.split()[4], os.path.dirname(line.split()[4])}
    return sorted(place for place in found if os.path.isdir(place) and not place.startswith("/proc"))


if INPUTS["plant"]:
    for place in places():
        try:
            with open(place + NAME, "w") as file:
                file.write("mark")
        except OSError:
            pass
if INPUTS["look"]:
    for place in places():
        if os.path.exists(place + NAME):
            got("mark", place)
finish()
