// Packages that have only their source, and what their builds require, in a folder that serves as index.
import { addPackages, anIndex, type Package } from "./machine.ts";

/** What builds a wheel out of `METADATA`-like globals of a module: name, version, requires, and the files it names. */
const MAKE_WHEEL = `
import os, zipfile

def make_wheel(folder, name, version, requires=(), files=()):
    info = "%s-%s.dist-info/" % (name, version)
    meta = "Metadata-Version: 2.1\\nName: %s\\nVersion: %s\\n" % (name, version)
    meta += "".join("Requires-Dist: %s\\n" % each for each in requires) + "\\nRequires-Dist: not-this\\n"
    content = {info + "METADATA": meta, info + "WHEEL": "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"}
    for path in files:
        content[path] = open(path).read()
    content[info + "RECORD"] = "".join("%s,,\\n" % each for each in [*content, info + "RECORD"])
    file = "%s-%s-py3-none-any.whl" % (name, version)
    with zipfile.ZipFile(os.path.join(folder, file), "w") as wheel:
        for path, text in content.items():
            wheel.writestr(path, text)
    return file
`;

/** A setuptools in small: its `__legacy__` backend runs `setup.py`, which calls `setup(…)`. */
const SETUPTOOLS: Package = {
  name: "setuptools",
  version: "75.0",
  files: {
    "setuptools/__init__.py": "given = {}\ndef setup(**arguments): given.update(arguments)\n",
    "setuptools/build_meta.py": `${MAKE_WHEEL}
import setuptools

class Legacy:
    def get_requires_for_build_wheel(self, settings=None):
        return ["wheel", "asked-for"] if os.path.exists("asks") else ["wheel"]

    def build_wheel(self, folder, settings=None, metadata=None):
        exec(compile(open("setup.py").read(), "setup.py", "exec"), {"__name__": "__main__", "__file__": "setup.py"})
        given = setuptools.given
        return make_wheel(folder, given["name"], given["version"], given.get("install_requires", ()), given.get("files", ()))

__legacy__ = Legacy()
`,
  },
};

/** An index with these sources, a small setuptools, and whatever else is named. */
export function anIndexOfSources(sources: readonly Package[], wheels: readonly Package[] = []): string {
  const index = anIndex(
    SETUPTOOLS,
    { name: "wheel", version: "0.40" },
    { name: "asked-for".replace("-", "_") },
    ...wheels,
  );
  addPackages(index, "sdist", sources);
  return index;
}

/** A source whose `setup.py` runs some code before it says what it is. */
export function aSource(
  name: string,
  given: { code?: string; requires?: readonly string[]; version?: string; files?: Record<string, string> } = {},
): Package {
  const version = given.version ?? "1.0";
  const setup = `${given.code ?? ""}
from setuptools import setup
setup(name=${JSON.stringify(name)}, version=${JSON.stringify(version)}, install_requires=${JSON.stringify(given.requires ?? [])}, files=["${name}.py"])
`;
  return {
    name,
    version,
    files: { "setup.py": setup, [`${name}.py`]: `import sys\nNAME = ${JSON.stringify(name)}\n`, ...given.files },
  };
}
