"""What an uncaught exception is called, for the person who reads the execution's message."""

import errno
import sys

NETWORK_ERRNOS = {
    getattr(errno, name)
    for name in ("ENETUNREACH", "EHOSTUNREACH", "ENETDOWN", "EAFNOSUPPORT", "EADDRNOTAVAIL", "ECONNREFUSED", "ETIMEDOUT")
}
NETWORK_NAMES = {
    "gaierror",
    "herror",
    "NewConnectionError",
    "NameResolutionError",
    "ConnectError",
    "ConnectTimeout",
    "ClientConnectorError",
    "ClientConnectorDNSError",
    "ServerSelectionTimeoutError",
    "EndpointConnectionError",
}


def describe(error, request, contract_error):
    """The kind of end (`error`, `memory`) and the text a traceback ends with."""
    if isinstance(error, contract_error):
        return "error", str(error)
    kind = type(error)
    if issubclass(kind, MemoryError):
        return "memory", "MemoryError"
    name = kind.__qualname__
    own_module = request["entrypoint"].rsplit("/", 1)[-1].rsplit(".", 1)[0]
    if kind.__module__ not in ("builtins", "__main__", "main", own_module):
        name = "%s.%s" % (kind.__module__, name)
    try:
        text = str(error)
    except Exception:
        text = "(its message could not be made)"
    message = name + ": " + text[:1600] if text else name
    if not request["network"] and any(looks_like_network(cause) for cause in causes(error)):
        message += " (This workflow has no network: limits.network is off in config.yaml.)"
    return "error", message


def show(error, runner_file):
    """The traceback as `python3 main.py` would print it, without the runner's own frames."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == runner_file:
        trace = trace.tb_next
    sys.stdout.flush()
    sys.excepthook(type(error), error.with_traceback(trace), trace)


def causes(error):
    seen = []
    waiting = [error]
    while waiting and len(seen) < 20:
        error = waiting.pop()
        if not isinstance(error, BaseException) or any(error is other for other in seen):
            continue
        seen.append(error)
        waiting += [error.__cause__, error.__context__, getattr(error, "reason", None)]
        waiting += list(getattr(error, "args", ()))[:4]
    return seen


def looks_like_network(error):
    names = {base.__name__ for base in type(error).__mro__}
    return bool(names & NETWORK_NAMES) or isinstance(error, ConnectionRefusedError) or (
        isinstance(error, OSError) and error.errno in NETWORK_ERRNOS and error.filename is None
    )
