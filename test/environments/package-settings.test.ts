import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import {
  collectPackageSettings,
  hideCredentials,
  parsePipConfiguration,
  toPipVariables,
  toUvVariables,
  withoutCredentials,
} from "../../environments/package-settings.ts";
import { aFolder } from "./machine.ts";

test("parsePipConfiguration, sections and lists, become pip's variables", () => {
  const text =
    "[global]\nindex-url = https://one/simple\ntimeout: 9\n# no\n[list]\nformat = json\n[install]\nfind-links =\n    /a\n    /b\n; no\n";
  expect(parsePipConfiguration(text)).toEqual({
    PIP_INDEX_URL: "https://one/simple",
    PIP_TIMEOUT: "9",
    PIP_FIND_LINKS: "/a /b",
  });
});

test("collectPackageSettings, the same setting in a file and a variable, takes the variable", async () => {
  const path = join(aFolder(), "pip.conf");
  writeFileSync(path, "[global]\nindex-url = https://file/simple\nextra-index-url = https://more/simple\n");
  const settings = await collectPackageSettings(
    { PIP_CONFIG_FILE: path, PIP_INDEX_URL: "https://variable/simple" },
    aFolder(),
  );
  expect(settings).toMatchObject({
    PIP_INDEX_URL: "https://variable/simple",
    PIP_EXTRA_INDEX_URL: "https://more/simple",
  });
});

test("toUvVariables, a machine set up for pip, says the same in uv's words and nothing else", () => {
  const folder = aFolder();
  const variables = toUvVariables({
    PIP_INDEX_URL: "https://one/simple",
    PIP_FIND_LINKS: `${folder} /not/there`,
    PIP_CERT: "/ca.pem",
    https_proxy: "http://proxy:1",
    PIP_TARGET: "/evil",
    UV_PYTHON: "/evil",
    UV_NO_BINARY: "1",
    HOME: "/root",
    DATABASE_URL: "secret",
  });
  expect(variables).toEqual({
    UV_DEFAULT_INDEX: "https://one/simple",
    UV_FIND_LINKS: folder,
    SSL_CERT_FILE: "/ca.pem",
    https_proxy: "http://proxy:1",
    UV_PYTHON_DOWNLOADS: "never",
  });
});

test("toPipVariables, a machine set up for uv, says the same in pip's words and nothing else", () => {
  const variables = toPipVariables({
    UV_DEFAULT_INDEX: "https://one/simple",
    UV_INDEX: "named=https://two/simple https://three/simple",
    SSL_CERT_FILE: "/ca.pem",
    PIP_USER: "1",
    PIP_CONSTRAINT: "/evil",
  });
  expect(variables).toEqual({
    PIP_INDEX_URL: "https://one/simple",
    PIP_EXTRA_INDEX_URL: "https://two/simple https://three/simple",
    PIP_CERT: "/ca.pem",
    SSL_CERT_FILE: "/ca.pem",
    PIP_CONFIG_FILE: "/dev/null",
  });
});

test("withoutCredentials, settings with secrets, keeps places and drops secrets", () => {
  const given = {
    UV_DEFAULT_INDEX: "https://user:secret@one/simple",
    UV_INDEX_TWO_PASSWORD: "secret",
    SSL_CLIENT_CERT: "/secret.pem",
    HTTPS_PROXY: "http://user:secret@proxy",
    UV_FIND_LINKS: "/folder",
  };
  expect(withoutCredentials(given)).toEqual({ UV_DEFAULT_INDEX: "https://one/simple", UV_FIND_LINKS: "/folder" });
});

test("hideCredentials, a line with a URL, shows no user and no password", () => {
  expect(hideCredentials("GET https://user:secret@one/simple and http://x@two/")).toBe(
    "GET https://one/simple and http://two/",
  );
});
