"""The zygote: the one process of a lane that lives longer than an execution. It imports what a commit will import, and each
execution is a fork of it in fresh namespaces. It never runs the commit's own code and never sees an execution's inputs:
the host stops it (SIGSTOP) before it hands a fork its request, and lets it go on when nothing of that execution is left.

Packages are imported in this process, so nothing here can be trusted by the host: it looks at the processes from
outside. See protocol.md, part three.
"""

import posix
import sys

CONTROL_FD = int(sys.argv[1])
"""What a cold run of the same commit starts with; anything else that is loaded here must not be in the way of the commit's own modules."""
BASELINE = frozenset(sys.modules)


def load_runner():
    """The functions of main.py, whose name user code will want for itself."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("_treadle_runner", __file__.rpartition("/")[0] + "/main.pyc")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def warm_up(runner, request):
    """Imports everything a fork will need. Raises Unfit when the commit had better start cold each time."""
    import _treadle_packages as packages

    runner.set_variables(request["variables"])
    runner.prepare_environment(request["environmentDir"])
    with packages.watch_environment(request["perRun"]):
        packages.import_for(request, BASELINE)
    entry = request["commitDir"] + "/" + request["entrypoint"]
    return packages.compile_entry(runner, entry, request["workDir"] + "/" + request["entrypoint"])


def start():
    sys.path.insert(0, __file__.rpartition("/")[0])
    posix.set_inheritable(CONTROL_FD, False)
    posix.closerange(CONTROL_FD + 1, 1 << 16)
    runner = load_runner()
    import _treadle_fork as forks
    import _treadle_packages as packages

    request = runner.read_request(CONTROL_FD)
    sys.path.pop(0)
    runner.apply_limits(request["rlimits"])
    try:
        compiled = warm_up(runner, request)
        left = packages.collect_leftovers(request["scratchDirs"])
        packages.check_fitness()
    except packages.Unfit as reason:
        runner.tell("unfit", reason=str(reason)[:500])
        return
    lane = forks.Lane(runner, request, compiled, left)
    lane.rehearse()
    packages.settle_memory()
    runner.tell("warm", modules=len(sys.modules))
    while True:
        order = runner.read_request(CONTROL_FD)
        lane.fork(order["fork"])


start()
