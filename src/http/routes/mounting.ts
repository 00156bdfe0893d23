import { Router } from "express";
import { refuseMethod } from "../answers/answers.ts";
import { type Handlers, ROUTE_NAMES, ROUTES, type RouteName } from "./table.ts";

/**
 * The routes of the table below `/api`, or those outside of it, each doing what its handler does. Other methods of their
 * paths are answered 405. A route without a handler is not there.
 */
export function mountRoutes(where: "below /api" | "outside", handlers: Handlers): Router {
  const router = Router();
  for (const [path, names] of groupByPath(where === "below /api", handlers)) {
    const route = router.route(path);
    const methods: string[] = [];
    for (const name of names) {
      const { method } = ROUTES[name];
      route[method](handlers[name] as NonNullable<Handlers[RouteName]>);
      // Express answers HEAD by GET.
      methods.push(...(method === "get" ? ["GET", "HEAD"] : [method.toUpperCase()]));
    }
    route.all(refuseMethod(...methods));
  }
  return router;
}

/** The names of the routes of each path, as Express writes it: `:name`, and without `/api` in front. */
function groupByPath(isBelowApi: boolean, handlers: Handlers): Map<string, RouteName[]> {
  const groups = new Map<string, RouteName[]>();
  for (const name of ROUTE_NAMES) {
    const { path } = ROUTES[name];
    if (handlers[name] === undefined || path.startsWith("/api/") !== isBelowApi) continue;
    const mounted = path.replace(/^\/api/, "").replaceAll(/\{(\w+)\}/g, ":$1");
    groups.set(mounted, [...(groups.get(mounted) ?? []), name]);
  }
  return groups;
}
