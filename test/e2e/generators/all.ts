import type { Generator } from "./generator.ts";
import { installGoClient } from "./go.ts";
import { installJavaClient } from "./java.ts";
import { installOapiCodegenClient } from "./oapi-codegen.ts";
import { installPydanticClient } from "./pydantic.ts";
import { installPythonClient } from "./python.ts";
import { installTypeScriptClients } from "./typescript.ts";
import { installFetchClient } from "./typescript-fetch.ts";

/** The long form, with generators that need Java, Maven, Go and minutes: `TREADLE_TEST_GENERATORS=all`. */
export const IS_LONG = process.env["TREADLE_TEST_GENERATORS"] === "all";

/** The generators whose clients the tests use, by their names. */
export const GENERATORS: ReadonlyMap<string, () => Promise<Generator>> = new Map([
  ["openapi-python-client makes", installPythonClient],
  ["hey-api and openapi-typescript make", installTypeScriptClients],
  ...(IS_LONG
    ? ([
        ["openapi-generator makes for Java", installJavaClient],
        ["openapi-generator makes for Go", installGoClient],
        ["openapi-generator makes for Python", installPydanticClient],
        ["openapi-generator makes for TypeScript", installFetchClient],
        ["oapi-codegen makes", installOapiCodegenClient],
      ] as const)
    : []),
]);
