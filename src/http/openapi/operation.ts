import type { ErrorCode } from "../../../domain/errors.ts";
import type { JsonValue } from "../../../domain/manifest/json-values.ts";
import type { JsonSchema } from "../../../domain/manifest/value-schema.ts";
import { STATUS } from "../errors.ts";
import { HEADERS, type HeaderName } from "../routes/headers.ts";
import type { Answer, Contents, Credential, Parameter, Route } from "../routes/route.ts";
import { nameError, refer } from "../routes/schemas.ts";

type Json = Record<string, JsonValue>;

/** Errors of any request: it is malformed, the service is at fault, or it lacks slots or the database. */
const EVERYWHERE: readonly ErrorCode[] = ["invalid_request", "internal", "no_capacity"];
/** Errors of a request that changes something: another website has sent it. */
const ELSEWHERE_FROM: readonly ErrorCode[] = ["forbidden"];
const LATE_STATUSES: ReadonlySet<number> = new Set([402, 500, 503]);
const ERROR_HEADERS: Partial<Record<ErrorCode, Pick<Answer, "always" | "sometimes">>> = {
  unauthorized: { sometimes: ["WWW-Authenticate"] },
  rate_limited: { always: ["Retry-After"], sometimes: ["RateLimit-Policy", "RateLimit"] },
  too_many_executions: { always: ["Retry-After"] },
  no_capacity: { always: ["Retry-After"] },
  range_not_satisfiable: { always: ["Content-Range"] },
};

const SCHEMES: Readonly<Record<Exclude<Credential, "link">, Json>> = {
  apiKey: {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
    description: "The workflow's own key. It opens that workflow and its executions, nothing else.",
  },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "__Host-session",
    description: "A browser in which a member of the account is signed in.",
  },
  accessToken: {
    type: "http",
    scheme: "bearer",
    description:
      "A personal access token: a member of the account, or the operator, by a program such as the command line.",
  },
};

/** The ways to get in, for a document's components. */
export const SECURITY_SCHEMES: Json = { ...SCHEMES };

/** A route as an OpenAPI operation: with every status that it can answer, errors included. */
export function toOperation(operationId: string, route: Route): Json {
  return {
    operationId,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    // A signed link has its parameters. As a key in the query, openapi-generator for TypeScript would send the workflow's key there.
    security: route.credentials.map((credential) => (credential === "link" ? {} : { [credential]: [] })),
    parameters: (route.parameters ?? []).map(toParameter),
    ...(route.body === undefined
      ? {}
      : { requestBody: { required: route.body.required, content: toContent(route.body.content) } }),
    responses: toResponses(route),
  };
}

/** Every error that a route may answer, by status: several may share one. */
export function errorsByStatus(route: Route): Map<number, ErrorCode[]> {
  const isChange = route.method !== "get" && route.path.startsWith("/api/");
  const groups = new Map<number, ErrorCode[]>();
  for (const code of new Set([...EVERYWHERE, ...(isChange ? ELSEWHERE_FROM : []), ...route.errors])) {
    groups.set(STATUS[code], [...(groups.get(STATUS[code]) ?? []), code]);
  }
  return groups;
}

function toResponses(route: Route): Json {
  const answers = Object.entries(route.answers).map(
    ([status, answer]) => [Number(status), toResponse(answer)] as const,
  );
  const errors = [...errorsByStatus(route)].map(
    ([status, codes]) => [status, toErrorResponse(status, codes, route.lateHeaders ?? [])] as const,
  );
  const all = [...answers, ...errors].sort(([one], [other]) => one - other);
  return Object.fromEntries(all.map(([status, response]) => [String(status), response]));
}

function toErrorResponse(status: number, codes: readonly ErrorCode[], lateHeaders: readonly HeaderName[]): Json {
  const schemas = codes.map((code) => refer(nameError(code)));
  const all = codes.map((code) => ERROR_HEADERS[code]);
  return toResponse({
    description: codes.map((code) => `\`${code}\``).join(", "),
    // Only what every error of this status has is certain.
    always: (all[0]?.always ?? []).filter((name) => all.every((headers) => headers?.always?.includes(name))),
    sometimes: [
      ...all.flatMap((headers) => [...(headers?.sometimes ?? []), ...(headers?.always ?? [])]),
      ...(LATE_STATUSES.has(status) ? lateHeaders : []),
    ],
    content: { "application/json": { schema: schemas.length === 1 ? (schemas[0] as JsonSchema) : { oneOf: schemas } } },
  });
}

function toResponse({ description, always = [], sometimes = [], content }: Answer): Json {
  const certain = ["X-Request-Id" as const, ...always];
  const headers: Json = {};
  for (const name of sometimes) headers[name] = { $ref: `#/components/headers/${name}` };
  for (const name of certain) headers[name] = { ...HEADERS[name], required: true };
  return { description, headers, ...(content === undefined ? {} : { content: toContent(content) }) };
}

function toContent(contents: Contents): Json {
  return Object.fromEntries(
    Object.entries(contents).map(([mediaType, { schema, example, encoding }]) => [
      mediaType,
      {
        schema,
        ...(example === undefined ? {} : { example }),
        ...(encoding === undefined || Object.keys(encoding).length === 0 ? {} : { encoding: encoding as Json }),
      },
    ]),
  );
}

function toParameter({ name, in: place, required = false, description, schema, example }: Parameter): Json {
  return { name, in: place, required, description, schema, ...(example === undefined ? {} : { example }) };
}
