"""What an interpreter starts with: dispositions, mask, pending signals, timers, wake-up descriptor."""

import signal


def main():
    def name(handler):
        return handler.name if isinstance(handler, signal.Handlers) else getattr(handler, "__name__", str(handler))

    numbers = sorted(signal.valid_signals() - {32, 33})
    return {
        "dispositions": {number: name(signal.getsignal(number)) for number in numbers if signal.getsignal(number) != signal.SIG_DFL},
        "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "pending": sorted(signal.sigpending()),
        "timers": [signal.getitimer(each) for each in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)],
        "wakeup": signal.set_wakeup_fd(-1),
        "kernel": [line.strip() for line in open("/proc/self/status") if line.startswith(("SigBlk", "SigIgn", "SigCgt"))],
    }
