"""What user code may call: `treadle.progress(0.4, "parsing")`, which does nothing in a child process. And what it may read:
`treadle.run.id` and so on, in children too.

Only built-in modules are imported here: a commit may have a `json.py` or an `os.py` of its own.
"""

import _thread
import atexit
import posix
import sys
import time

__all__ = ["progress", "run"]

PER_SECOND = 10
"""As many again go out at once, so that no second has more than 20."""
MESSAGE_CHARS_MAX = 200


class _Run:
    """What this run knows of itself. Everything is read when it is asked for, and None where no such run is under way."""

    __slots__ = ()

    @property
    def id(self):
        return _read("ID")

    @property
    def attempt(self):
        """1 for the first."""
        attempt = _read("ATTEMPT")
        return None if attempt is None else int(attempt)

    @property
    def trigger(self):
        """`api`, `schedule` or `form`."""
        return _read("TRIGGER")

    @property
    def commit(self):
        return _read("COMMIT")

    @property
    def workflow(self):
        return _read("WORKFLOW")

    @property
    def scheduled_for(self):
        """The time of the schedule that this run stands for, by the clock of the schedule's zone."""
        return _read_time("SCHEDULED_FOR")

    @property
    def previous_scheduled_for(self):
        """When the schedule was due before that, whether it ran then or not."""
        return _read_time("PREVIOUS_SCHEDULED_FOR")

    def __repr__(self):
        return "<treadle.run %s>" % self.id


def _read(name):
    value = posix.environ.get(b"TREADLE_RUN_" + name.encode())
    return None if value is None else value.decode()


def _read_time(name):
    text = _read(name)
    if text is None:
        return None
    load = getattr(sys, "_treadle_library", __import__)
    time = load("datetime").datetime.fromisoformat(text)
    try:
        return time.astimezone(load("zoneinfo").ZoneInfo(_read("TIMEZONE")))
    except (ImportError, OSError, ValueError, TypeError, KeyError):
        return time  # There are no rules of zones here: the offset is right all the same.


run = _Run()


def progress(fraction, message=""):
    """Says how far the work is, from 0 to 1, with a short text. Never fails and never waits; of very many calls the newest counts."""
    process, tell = getattr(sys, "_treadle_control", (None, None))
    if process != posix.getpid():
        return  # Not on Treadle, or in a child, where the descriptor may be any file.
    try:
        fraction = float(fraction)
        text = str(message)[:MESSAGE_CHARS_MAX]
    except Exception:
        return
    if fraction == fraction:
        _pace.take(tell, min(1.0, max(0.0, fraction)), text)


class _Pace:
    """Sends at once what may go out at once. What may not waits for its time, unless something newer comes before.

    What the thread needs it has from here: names of modules may be cleared while it still runs."""

    def __init__(self):
        self.lock = _thread.RLock()  # A signal's handler may call progress() while progress() runs.
        self.now, self.sleep = time.monotonic, time.sleep
        self.allowance, self.counted_at = PER_SECOND, time.monotonic()
        self.newest = None
        self.is_waiting = False

    def take(self, *newest):
        with self.lock:
            self.newest = newest
            if self.is_waiting:
                return
            now = self.now()
            self.allowance = min(PER_SECOND, self.allowance + max(0, now - self.counted_at) * PER_SECOND)
            self.counted_at = now
            if self.allowance >= 1:
                self.send()
            else:
                self.wait()

    def send(self):
        with self.lock:
            if self.newest is not None:
                (tell, fraction, message), self.newest = self.newest, None
                self.allowance -= 1
                tell("progress", fraction=fraction, message=message)

    def wait(self):
        try:
            _thread.start_new_thread(self.send_later, (1 / PER_SECOND,))
            self.is_waiting = True
        except RuntimeError:
            pass  # No thread may be started: the next call sends it, or the end.

    def send_later(self, seconds):
        self.sleep(seconds)
        with self.lock:
            self.is_waiting = False
            self.send()


def _send_last():
    if getattr(sys, "_treadle_control", (None,))[0] == posix.getpid():
        _pace.send()


_pace = _Pace()
atexit.register(_send_last)
