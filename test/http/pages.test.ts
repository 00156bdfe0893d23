import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { aMember, anAccount } from "../support/builders.ts";
import { aService, type TestService } from "./service.ts";

const SCRIPT = `${"console.log('a script');\n".repeat(100)}// „Ende“`;
const PAGE =
  '<!doctype html><html data-mantine-color-scheme="__COLOURS__"><meta name="color-scheme" content="__COLOUR_SCHEME__"><meta property="csp-nonce" nonce="__NONCE__"><meta name="session" content="__SESSION__"></head><div id="root"></div>';
const LINKS = { "/": "list", "/sign-in": "sign-in", "/join": "join", "/workflows/*/code": "code" };
const HTML = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const COOKIE = `__Host-session=${"a".repeat(43)}`;

let folder: string;
let service: TestService;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "treadle-pages-"));
  await mkdir(join(folder, "assets"));
  await writeFile(join(folder, "index.html"), PAGE);
  await writeFile(join(folder, "parts.json"), "{}");
  const links = Object.entries(LINKS).map(([path, part]) => [path, `<link href="${part}">`]);
  await writeFile(join(folder, "links.json"), JSON.stringify(Object.fromEntries(links)));
  await writeFile(join(folder, "secret.js"), "secret");
  for (const [name, content] of [
    ["app-1a2b3c4d.js", SCRIPT],
    ["app-1a2b3c4d.js.gz", gzipSync(SCRIPT)],
    ["app-1a2b3c4d.js.br", brotliCompressSync(SCRIPT)],
    ["small-5e6f7a8b.css", "a{}"],
  ] as const)
    await writeFile(join(folder, "assets", name), content);
  service = await aService({ webFolder: folder });
});

afterAll(async () => {
  await service?.close();
  await rm(folder, { recursive: true, force: true });
});

function policyOf(header: unknown): Record<string, string> {
  const directives = String(header).split("; ");
  return Object.fromEntries(directives.map((directive) => directive.split(/ (.*)/s, 2))) as Record<string, string>;
}

test.each([
  "/",
  "/sign-in?from=%2Faccount",
  "/join",
  "/workflows/wf_1/code",
  "/executions",
  "/executions/ex_1",
  "/account/members",
])(
  "a page, at %s, is the editor's, kept by nobody, with a policy that lets nothing in from elsewhere",
  async (path) => {
    const answer = await service.call(path, { headers: HTML });
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(answer.headers["cache-control"]).toBe("no-store");
    const [, nonce = ""] = /nonce="([^"]+)"/.exec(answer.text()) ?? [];
    expect(Buffer.from(nonce, "base64").length).toBe(16);
    expect(policyOf(answer.headers["content-security-policy"])).toEqual({
      "default-src": "'none'",
      "script-src": "'self'",
      "style-src": `'self' 'nonce-${nonce}'`,
      "img-src": "'self' blob:",
      "media-src": "'self' blob:",
      "font-src": "'self'",
      "connect-src": "'self'",
      "frame-src": "'self' blob:",
      "base-uri": "'none'",
      "form-action": "'none'",
      "frame-ancestors": "'none'",
    });
  },
);

test.each([
  { cookie: undefined, attribute: undefined, scheme: "light dark" },
  { cookie: "treadle-colours=dark", attribute: "dark", scheme: "dark" },
  { cookie: `${COOKIE}; treadle-colours=light; other=1`, attribute: "light", scheme: "light" },
  { cookie: 'treadle-colours="><script>', attribute: undefined, scheme: "light dark" },
  { cookie: "not-treadle-colours=dark", attribute: undefined, scheme: "light dark" },
])("a page, asked for with the cookie $cookie, comes in $scheme", async ({ cookie, attribute, scheme }) => {
  const answer = await service.call("/", { headers: { ...HTML, ...(cookie === undefined ? {} : { cookie }) } });
  expect(/<html data-mantine-color-scheme="([^"]*)">/.exec(answer.text())?.[1]).toBe(attribute);
  expect(/<meta name="color-scheme" content="([^"]*)">/.exec(answer.text())?.[1]).toBe(scheme);
});

test("a page, asked for twice, has another nonce each time", async () => {
  const [first, second] = await Promise.all([service.call("/"), service.call("/")]);
  expect(first.text()).not.toBe(second.text());
});

/** What a page is told of who asks for it, as a browser reads it. */
async function readTold(cookie: string | undefined): Promise<string> {
  const answer = await service.call("/", { headers: { ...HTML, ...(cookie === undefined ? {} : { cookie }) } });
  const [, content = ""] = /<meta name="session" content="([^"]*)">/.exec(answer.text()) ?? [];
  const signs: Record<string, string> = { "&amp;": "&", "&quot;": '"', "&lt;": "<", "&gt;": ">" };
  return content.replaceAll(/&(?:amp|quot|lt|gt);/g, (sign) => signs[sign] ?? sign);
}

test.each([undefined, COOKIE, "__Host-session=short"])(
  "a page, asked for with the cookie %s, is told that nobody is signed in",
  async (cookie) => {
    expect(await readTold(cookie)).toBe("none");
  },
);

test("a page, asked for by somebody who is signed in, is told who that is, whatever their account is called", async () => {
  const name = `"><script>alert('$&')</script> & __NONCE__ </head> __COLOUR_SCHEME__`;
  const { cookie } = await aMember(service.db, await anAccount(service.db, { name }));
  const session = await service.call("/api/session", { headers: { cookie } });
  expect(session.json()["accountName"]).toBe(name);
  expect(JSON.parse(await readTold(cookie))).toEqual(session.json());
  const page = (await service.call("/", { headers: { ...HTML, cookie } })).text();
  expect(page).not.toContain("<script");
  expect(page.match(/<\/head>/g)).toHaveLength(1);
});

test("a page, asked for with a session that has ended, is told that nobody is signed in", async () => {
  const { cookie } = await aMember(service.db, await anAccount(service.db));
  const headers = { cookie, origin: service.url };
  expect((await service.call("/api/session", { method: "DELETE", headers })).status).toBe(200);
  expect(await readTold(cookie)).toBe("none");
});

test.each([
  { path: "/", signedIn: false, part: "sign-in" },
  { path: "/workflows/wf_1/code", signedIn: false, part: "sign-in" },
  { path: "/sign-in", signedIn: true, part: "sign-in" },
  { path: "/join", signedIn: false, part: "join" },
  { path: "/", signedIn: true, part: "list" },
  { path: "/workflows/wf_1/code", signedIn: true, part: "code" },
  { path: "/workflows/wf_1", signedIn: true, part: undefined },
  { path: "/workflows/wf_1/code/more", signedIn: true, part: undefined },
])("a page, at $path with a session $signedIn, names its part $part beside the first", async (given) => {
  const { path, signedIn, part } = given;
  const cookie = signedIn ? (await aMember(service.db, await anAccount(service.db))).cookie : "";
  const text = (await service.call(path, { headers: { ...HTML, cookie } })).text();
  const links = [...text.matchAll(/<link href="(\w[\w-]*)"><\/head>/g)].map(([, name]) => name);
  expect(links).toEqual(part === undefined ? [] : [part]);
});

test("an address that is no page, for a browser, is the page with 404, and for programs the error", async () => {
  const browser = await service.call("/nothing/here", { headers: HTML });
  expect([browser.status, browser.headers["content-type"]]).toEqual([404, "text/html; charset=utf-8"]);
  const program = await service.call("/nothing/here");
  expect([program.status, program.json()["error"]]).toEqual([404, "Not found"]);
});

test.each([
  ["GET", "/favicon.ico"],
  ["GET", "/robots.txt"],
  ["GET", "/index.html"],
  ["GET", "/parts.json"],
  ["GET", "/links.json"],
  ["GET", "/api"],
  ["GET", "/api/nothing"],
  ["POST", "/workflows/wf_1"],
  ["DELETE", "/"],
])("%s of %s, although a browser asks, is the error as JSON", async (method, path) => {
  const answer = await service.call(path, { method, headers: HTML });
  expect([answer.status, answer.headers["content-type"]]).toEqual([404, "application/json; charset=utf-8"]);
});

test.each([
  ["br, gzip", "br", (bytes: Buffer) => brotliDecompressSync(bytes)],
  ["gzip", "gzip", (bytes: Buffer) => gunzipSync(bytes)],
  ["br;q=0, gzip", "gzip", (bytes: Buffer) => gunzipSync(bytes)],
  ["identity", undefined, (bytes: Buffer) => bytes],
])("a part of the editor, for who takes %s, comes so, for ever", async (accepted, encoding, open) => {
  const answer = await service.call("/assets/app-1a2b3c4d.js", { headers: { "accept-encoding": accepted } });
  expect([answer.status, answer.headers["content-encoding"]]).toEqual([200, encoding]);
  expect(open(answer.bytes).toString("utf8")).toBe(SCRIPT);
  expect(answer.headers).toMatchObject({
    "content-type": "text/javascript; charset=utf-8",
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
    vary: "Accept-Encoding",
  });
});

test("a part of the editor, which is too small to be compressed, comes as it is", async () => {
  const answer = await service.call("/assets/small-5e6f7a8b.css", { headers: { "accept-encoding": "br, gzip" } });
  expect([answer.headers["content-encoding"], answer.text()]).toEqual([undefined, "a{}"]);
});

test("a part of the editor, when the browser has it, is not sent again", async () => {
  const first = await service.call("/assets/app-1a2b3c4d.js");
  const again = await service.call("/assets/app-1a2b3c4d.js", {
    headers: { "if-none-match": String(first.headers.etag) },
  });
  expect([again.status, again.bytes.length]).toEqual([304, 0]);
});

test("HEAD of a part, says what GET says, without the part", async () => {
  const [get, head] = await Promise.all(
    ["GET", "HEAD"].map((method) => service.call("/assets/app-1a2b3c4d.js", { method })),
  );
  expect(head?.bytes.length).toBe(0);
  expect(head?.headers.etag).toBe(get?.headers.etag);
});

test.each([
  "/assets/",
  "/assets/gone-00000000.js",
  "/assets/..%2fsecret.js",
  "/assets/..%2fparts.json",
  "/assets/app-1a2b3c4d.js.br",
  "/assets/%00.js",
  "/assets/.js",
])("%s, which is no part of the editor, is 404 as JSON", async (path) => {
  const answer = await service.call(path, { headers: HTML });
  expect([answer.status, answer.json()["error"]]).toEqual([404, "Not found"]);
});

test("a service, whose build has no editor, says so at its pages and serves the API", async () => {
  const bare = await aService({ webFolder: join(folder, "not there") });
  try {
    const page = await bare.call("/", { headers: HTML });
    expect([page.status, page.headers["content-type"]]).toEqual([404, "text/plain; charset=utf-8"]);
    expect(page.text()).toContain("no editor");
    expect((await bare.call("/assets/a-1.js")).status).toBe(404);
    expect((await bare.call("/nothing", { headers: HTML })).json()["error"]).toBe("Not found");
    expect((await bare.call("/api/session")).status).toBe(401);
  } finally {
    await bare.close();
  }
});
