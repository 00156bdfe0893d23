import { expect, test } from "@jest/globals";
import { type Express, Router } from "express";
import { createApp } from "../../src/http/app.ts";
import { ROUTE_NAMES, ROUTES } from "../../src/http/routes/table.ts";

type AppDeps = Parameters<typeof createApp>[0];

interface Layer {
  readonly route?: { readonly path: string; readonly methods: Readonly<Record<string, boolean>> };
  readonly handle: { readonly stack?: readonly Layer[] };
  /** What it takes of the path; false when it takes none. */
  match(path: string): { readonly path: string } | false;
}

/** Where a router may be mounted. One that is anywhere else is not looked into, and so must not be there. */
const MOUNTS = ["", "/api", "/deeper"];

/** Every route of an application as `GET /path/{parameter}`. */
function listRoutes(app: Express): string[] {
  return walk((app as unknown as { router: { stack: readonly Layer[] } }).router.stack, "");
}

function walk(layers: readonly Layer[], prefix: string): string[] {
  return layers.flatMap((layer) => {
    if (layer.route !== undefined) {
      const path = `${prefix}${layer.route.path.replaceAll(/:(\w+)/g, "{$1}")}`;
      const methods = Object.keys(layer.route.methods).filter((method) => method !== "_all");
      return methods.map((method) => `${method.toUpperCase()} ${path}`);
    }
    if (layer.handle.stack === undefined) return [];
    const mount = MOUNTS.find((place) => {
      const match = layer.match(`${place}/x`);
      return match !== false && match.path === place;
    });
    if (mount === undefined) throw new Error(`A router is mounted below ${prefix} at a place that nobody knows.`);
    return walk(layer.handle.stack, `${prefix}${mount}`);
  });
}

/** Nothing is called: only what is mounted counts. */
function anApp(routers: readonly Router[]): Express {
  return createApp({ metrics: async () => "", routers } as unknown as AppDeps);
}

const documented = ROUTE_NAMES.map((name) => `${ROUTES[name].method.toUpperCase()} ${ROUTES[name].path}`);

test("route table, beside what the application mounts, has the same routes: none more, none less, none twice", () => {
  const mounted = listRoutes(anApp([]));
  expect(mounted.length).toBeGreaterThan(30);
  expect(mounted.sort()).toEqual([...documented].sort());
  expect(new Set(mounted).size).toBe(mounted.length);
});

test("the walk over routes, of an application with a route past the table, finds it wherever it was put", () => {
  const stray = Router();
  stray.get("/stray/:id", () => undefined);
  const deeper = Router().use("/deeper", stray);
  const strays = listRoutes(anApp([stray, deeper])).filter((route) => !documented.includes(route));
  expect(strays).toEqual(["GET /api/stray/{id}", "GET /api/deeper/stray/{id}"]);
  expect(() => listRoutes(anApp([Router().use("/elsewhere", stray)]))).toThrow("nobody knows");
});

test("route table, of a process without figures, mounts all but those", () => {
  const app = createApp({ routers: [] } as unknown as AppDeps);
  const mounted = listRoutes(app);
  expect(documented.filter((route) => !mounted.includes(route))).toEqual(["GET /metrics"]);
});
