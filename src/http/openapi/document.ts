import type { JsonObject, JsonValue } from "../../../domain/manifest/json-values.ts";
import type { JsonSchema } from "../../../domain/manifest/value-schema.ts";
import { HEADERS } from "../routes/headers.ts";
import { type Route, TAGS } from "../routes/route.ts";
import { SCHEMAS } from "../routes/schemas.ts";
import { ROUTE_NAMES, ROUTES } from "../routes/table.ts";
import { SECURITY_SCHEMES, toOperation } from "./operation.ts";

/** An OpenAPI document, ready to be sent. */
export type OpenApiDocument = JsonObject;

/** Of the interface, not of the software: it changes when what callers rely on does. */
const INTERFACE_VERSION = "1.0.0";

const ABOUT = `Runs published Python workflows: durable, isolated, metered.

HTTPS only. Every error is JSON with \`error\`, a fixed text, and \`message\`, which is for a person; every answer has \`X-Request-Id\`. Every address that answers GET answers HEAD. Another method than those shown is answered 405 with \`Allow\`, an unknown address 404. Each workflow has a document of its own, with its real inputs, at \`/api/workflows/{workflowId}/openapi.json\`.`;

/**
 * OpenAPI 3.1 of these routes, each by its `operationId`. `url` is what their paths are below; `schemas` are components of this
 * document beside or instead of those of all documents. It has the components that something refers to, and no others.
 */
export function createDocument(given: {
  readonly title: string;
  readonly description: string;
  readonly version: string;
  readonly url: string;
  readonly routes: Readonly<Record<string, Route>>;
  readonly schemas?: Readonly<Record<string, JsonSchema>>;
}): OpenApiDocument {
  const routes = Object.entries(given.routes);
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const [name, route] of routes)
    paths[route.path] = { ...paths[route.path], [route.method]: toOperation(name, route) };
  const tags = Object.entries(TAGS).filter(([tag]) => routes.some(([, route]) => route.tag === tag));
  return {
    openapi: "3.1.0",
    info: { title: given.title, version: given.version, description: given.description },
    servers: [{ url: given.url }],
    tags: tags.map(([name, description]) => ({ name, description })),
    paths,
    components: pickUsed(paths, {
      schemas: { ...SCHEMAS, ...given.schemas },
      headers: HEADERS,
      securitySchemes: pick(SECURITY_SCHEMES, new Set(routes.flatMap(([, route]) => route.credentials))),
    }),
  };
}

/** Without the components that nothing refers to, also not by way of another: generators make a type of each. */
function pickUsed(
  paths: JsonValue,
  { schemas, headers, securitySchemes }: Record<"schemas" | "headers" | "securitySchemes", JsonObject>,
): JsonObject {
  const used = new Set<string>();
  const unread: JsonValue[] = [paths];
  for (const part of unread) {
    for (const [, kind, name = ""] of JSON.stringify(part).matchAll(/"#\/components\/(schemas|headers)\/([^"]+)"/g)) {
      const key = `${kind} ${name}`;
      const found = (kind === "schemas" ? schemas : headers)[name];
      if (used.has(key) || found === undefined) continue;
      used.add(key);
      unread.push(found);
    }
  }
  const ofKind = (kind: string): Set<string> =>
    new Set([...used].filter((key) => key.startsWith(`${kind} `)).map((key) => key.slice(kind.length + 1)));
  return { schemas: pick(schemas, ofKind("schemas")), headers: pick(headers, ofKind("headers")), securitySchemes };
}

function pick(all: JsonObject, names: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name)));
}

/** The service's own document: every route for callers. */
export function describeService(url: string): OpenApiDocument {
  return createDocument({
    title: "Treadle",
    description: ABOUT,
    version: INTERFACE_VERSION,
    url,
    routes: Object.fromEntries(ROUTE_NAMES.map((name) => [name, ROUTES[name]])),
  });
}
