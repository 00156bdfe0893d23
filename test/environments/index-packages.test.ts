import { expect, test } from "@jest/globals";
import { collectPackageSettings } from "../../environments/package-settings.ts";
import { aFolder, findUv, lockOf, MACHINE_SETTINGS, runWith, someEnvironments, theRequirements } from "./machine.ts";

const settings = () => collectPackageSettings(MACHINE_SETTINGS, process.env.HOME ?? aFolder());

test("lock and ensure with uv, real packages with dependencies, can be imported in a sandbox", async () => {
  const environments = someEnvironments({ uv: findUv(), env: await settings() });
  const { key, lock } = await lockOf(environments, "six==1.16.0", "requests==2.32.3  # with dependencies", "idna<4");
  expect(lock).toMatch(
    /^certifi==.*^charset-normalizer==.*^idna==.*^requests==2\.32\.3 .*^six==1\.16\.0 .*^urllib3==/ms,
  );
  const path = await environments.ensure(key, lock);
  const code =
    "import six, idna, requests, ssl; print(six.__version__, requests.__version__, idna.encode('bücher').decode())";
  expect(runWith(path, ["python3", "-c", code])).toBe("1.16.0 2.32.3 xn--bcher-kva\n");
});

test("lock and ensure with pip, a real package, can be imported in a sandbox", async () => {
  const environments = someEnvironments({ uv: undefined, env: await settings() });
  const { key, lock } = await lockOf(environments, "six==1.16.0");
  expect(lock).toMatch(
    /^six==1\.16\.0 \\\n {4}--hash=sha256:8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254\n$/,
  );
  expect(runWith(await environments.ensure(key, lock), ["python3", "-c", "import six; print(six.__version__)"])).toBe(
    "1.16.0\n",
  );
});

test("lock, a lock made by uv, is installed by pip too", async () => {
  const byUv = someEnvironments({ uv: findUv(), env: await settings() });
  const { key, lock } = await lockOf(byUv, "six==1.16.0");
  const byPip = someEnvironments({ uv: undefined, env: await settings() });
  expect(runWith(await byPip.ensure(key, lock), ["python3", "-c", "import six; print(six.__version__)"])).toBe(
    "1.16.0\n",
  );
});

test("lock, a real package that only has its source, is refused at its line", async () => {
  const environments = someEnvironments({ env: await settings() });
  const result = await environments.lock(theRequirements("six", "", "docopt==0.6.2"));
  expect(result).toMatchObject({
    ok: false,
    problems: [{ line: 3, message: expect.stringMatching(/docopt.*Only wheels are installed/) }],
  });
});

test("lock and ensure with build: source, a real package that only has its source, is built and can be imported", async () => {
  const environments = someEnvironments({ uv: findUv(), env: await settings() });
  const result = await environments.lock(theRequirements("six==1.16.0", "docopt==0.6.2"), { build: "source" });
  if (!result.ok) throw new Error(`${JSON.stringify(result.problems)}\n${result.log}`);
  expect(result.lock).toMatch(/^docopt==0\.6\.2 [^]*49b3a825280bd66b3aa83585ef59c4a8c82f2c8a522dbe754a8bc8d08c85c491/);
  const path = await environments.ensure(result.key, result.lock, { build: "source" });
  expect(runWith(path, ["python3", "-c", "import docopt, six; print(docopt.__version__)"])).toBe("0.6.2\n");
});
