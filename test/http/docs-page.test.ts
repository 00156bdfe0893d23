import { readdirSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { aWorkflow } from "../support/builders.ts";
import { aFileService } from "./service.ts";

const UNKNOWN = "wf_00000000000000000000000000";
const WORKFLOW_DOCS = `/api/workflows/${UNKNOWN}/docs`;
/** Below a path of a proxy's choice everything must go on working, so nothing begins with a slash. */
const PAGES = ["/api/docs", "/api/docs/", WORKFLOW_DOCS, `${WORKFLOW_DOCS}/`];
const UTF_8 = "charset=utf-8";

const service = await aFileService();

/** What a page names to be fetched: as written, and as a browser finds it. */
function listLinks(html: string, page: string): { written: string; path: string }[] {
  return [...html.matchAll(/\b(?:src|href|data-document|data-root)="([^"]*)"/g)].map(([, written = ""]) => {
    const { origin, pathname } = new URL(written, `${service.url}${page}`);
    return { written, path: origin === service.url ? pathname : `${origin}${pathname}` };
  });
}

test.each(PAGES)("docs page, at %s, is HTML whose parts are all here", async (page) => {
  const answer = await service.call(page);
  expect([answer.status, answer.headers["content-type"]]).toEqual([200, `text/html; ${UTF_8}`]);
  const links = listLinks(answer.text(), page);
  expect(links.length).toBeGreaterThan(5);
  expect(links.filter(({ written }) => /^(?:[a-z]+:|\/)/i.test(written))).toEqual([]);
  const document = page.startsWith("/api/docs") ? "/api/openapi.json" : `${WORKFLOW_DOCS.slice(0, -5)}/openapi.json`;
  const assets = links.map(({ path }) => path).filter((path) => path !== "/" && path !== document);
  expect([...new Set(links.map(({ path }) => path))]).toEqual(expect.arrayContaining(["/", document]));
  for (const path of assets) {
    expect(path).toMatch(/^\/api\/docs\/[\w.-]+$/);
    expect([path, (await service.call(path)).status]).toEqual([path, 200]);
  }
});

test("docs page, by its policy, runs and fetches what comes from here, and nothing that stands in it", async () => {
  const { headers } = await service.call("/api/docs");
  const policy = Object.fromEntries(
    String(headers["content-security-policy"])
      .split(";")
      .map((directive) => directive.trim().split(/ (.*)/, 2)),
  ) as Record<string, string>;
  expect(policy).toEqual({
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
  });
});

test("docs page, as it is written, has no script or style of its own that the policy would stop", async () => {
  const html = (await service.call("/api/docs")).text();
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=|javascript:/i);
});

test.each([
  ["docs.js", `text/javascript; ${UTF_8}`],
  ["docs.css", `text/css; ${UTF_8}`],
  ["swagger-ui-bundle.js", `text/javascript; ${UTF_8}`],
  ["swagger-ui.css", `text/css; ${UTF_8}`],
  ["favicon-32x32.png", "image/png"],
])("docs page, for its part %s, has the right type and a tag that says when it is unchanged", async (name, type) => {
  const answer = await service.call(`/api/docs/${name}`);
  expect([answer.status, answer.headers["content-type"]]).toEqual([200, type]);
  expect(answer.bytes.length).toBeGreaterThan(100);
  const again = await service.call(`/api/docs/${name}`, { headers: { "if-none-match": String(answer.headers.etag) } });
  expect([again.status, again.bytes.length]).toEqual([304, 0]);
});

test.each(["swagger-ui.css", "docs.css"])("docs page, by its style sheet %s, fetches nothing", async (name) => {
  const css = (await service.call(`/api/docs/${name}`)).text();
  const fetched = [...css.matchAll(/url\(\s*["']?([^"')]*)/g)].map(([, url = ""]) => url);
  expect(fetched.filter((url) => !url.startsWith("data:"))).toEqual([]);
  expect(css).not.toContain("@import");
});

test.each(["nothing.js", "..%2Fpackage.json", "constructor", "package.json", "swagger-initializer.js"])(
  "docs page, asked for the part %s that it does not have, is 404",
  async (name) => {
    const answer = await service.call(`/api/docs/${name}`);
    expect([answer.status, answer.json()]).toMatchObject([404, { error: "Not found" }]);
  },
);

test("docs page, of a workflow that there is, is the one of a workflow that there is not, whoever asks", async () => {
  const { workflowId, apiKey } = await aWorkflow(service.db);
  const ask = async (id: string, headers: Record<string, string>) => {
    const { status, headers: given, bytes } = await service.call(`/api/workflows/${id}/docs`, { headers });
    return { status, given: { ...given, date: "", "x-request-id": "" }, text: bytes.toString() };
  };
  for (const headers of [{}, { "x-api-key": apiKey }, { "x-api-key": "wrong" }]) {
    const answer = await ask(workflowId, headers);
    expect(answer).toEqual(await ask(UNKNOWN, headers));
    expect(JSON.stringify(answer)).not.toContain(workflowId);
  }
  const documents = [workflowId, UNKNOWN].map((id) => service.call(`/api/workflows/${id}/openapi.json`));
  const [known, unknown] = await Promise.all(documents);
  expect([known?.status, known?.json()]).toEqual([401, unknown?.json()]);
});

test("docs page, of something that can be no workflow, is 404", async () => {
  const answer = await service.call("/api/workflows/nothing/docs");
  expect([answer.status, answer.json()]).toMatchObject([404, { error: "Workflow not found" }]);
});

test("other answers, beside the docs page, keep the policy under which nothing runs", async () => {
  const { headers } = await service.call("/api/openapi.json");
  expect(headers["content-security-policy"]).toBe("default-src 'none';frame-ancestors 'none'");
});

test("docs page, when the service is built, keeps its script: no source compiles to the same name", () => {
  const files = readdirSync(new URL("../../src/http/docs/", import.meta.url));
  const scripts = files.filter((name) => name.endsWith(".js"));
  expect(scripts).toEqual(["docs.js"]);
  expect(scripts.filter((name) => files.includes(name.replace(/js$/, "ts")))).toEqual([]);
});
