"""What a run knows of itself: here, in a Python that it starts, in a shell; beside a module named like one it needs."""

import os
import subprocess
import sys

import treadle


def main():
    run = treadle.run
    print(run.id, repr(run.attempt), run.trigger, run.commit, run.workflow, run)
    for time in (run.scheduled_for, run.previous_scheduled_for):
        print(time.isoformat(), time.fold, time.tzinfo, time.tzname())
    print(*sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("TREADLE_")))
    print(subprocess.check_output("echo $TREADLE_RUN_ID $TREADLE_RUN_SCHEDULED_FOR", shell=True, text=True))
    child = "import treadle; print(treadle.run.id, treadle.run.attempt, treadle.run.scheduled_for)"
    print(subprocess.check_output([sys.executable, "-c", child], text=True))
    bare = subprocess.check_output([sys.executable, "-c", child], text=True, env={"PYTHONPATH": os.environ["PYTHONPATH"]})
    return {"without": bare}
