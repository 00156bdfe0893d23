/**
 * What runs in the sandbox of one build: the part of an installer that calls a package's build backend (PEP 517). The
 * requirements are already unpacked in `/tools`. Its arguments: what is wanted (`metadata` or `wheel`), and the limits.
 * Leaves in `/out` the wheel or a file METADATA, or `needs.json` and code 3 when the backend asks for more
 * requirements.
 */
export const CALL_BACKEND = `
import json, os, resource, sys
wanted, backend_name, paths, bytes_max = json.loads(sys.argv[1])
for name, limit in (("NPROC", 512), ("DATA", 4 << 30), ("FSIZE", bytes_max), ("CORE", 0), ("NOFILE", 1024)):
    resource.setrlimit(getattr(resource, "RLIMIT_" + name), (limit, limit))
sys.argv[:] = ["setup.py"]
import importlib, site
site.addsitedir("/tools")
sys.path.remove("/tools") if "/tools" in sys.path else None
sys.path.insert(0, "/tools")
os.chdir("/source")
sys.path[:0] = [os.path.join("/source", path) for path in paths]
module, _, attributes = backend_name.partition(":")
backend = importlib.import_module(module)
for attribute in filter(None, attributes.split(".")):
    backend = getattr(backend, attribute)

def call(hook, *arguments):
    function = getattr(backend, hook, None)
    return None if function is None else function(*arguments)

def is_there(requirement):
    import re
    from importlib.metadata import PackageNotFoundError, distribution
    try:
        distribution(re.match(r"\\s*([A-Za-z0-9._-]+)", requirement)[1])
    except (PackageNotFoundError, TypeError):
        return False
    return True

needs = [str(each) for each in call("get_requires_for_build_wheel", None) or []]
missing = [each for each in needs if not is_there(each)]
if missing:
    with open("/out/needs.json", "w") as file:
        json.dump(missing, file)
    sys.exit(3)
if wanted == "wheel":
    backend.build_wheel("/out", None)
    sys.exit(0)
os.mkdir("/build-tmp/metadata")
folder = call("prepare_metadata_for_build_wheel", "/build-tmp/metadata", None)
if folder is not None:
    with open(os.path.join("/build-tmp/metadata", folder, "METADATA"), "rb") as file:
        text = file.read()
else:
    import zipfile
    with zipfile.ZipFile(os.path.join("/build-tmp/metadata", backend.build_wheel("/build-tmp/metadata", None))) as wheel:
        text = wheel.read(next(each for each in wheel.namelist() if each.endswith(".dist-info/METADATA")))
with open("/out/METADATA", "wb") as file:
    file.write(text)
`;
