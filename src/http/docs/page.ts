import type { RequestHandler } from "express";
import { isWorkflowId } from "../../../domain/ids.ts";
import { ApiError } from "../errors.ts";

/** Everything from here and nothing inline: no document can run code in this page. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Swagger UI's style sheet has its icons in it.
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Relative to the page, so that a proxy may put the service below a path of its own. */
const PLACES = {
  service: { assets: "docs", root: ".." },
  workflow: { assets: "../../docs", root: "../../.." },
} as const;

/** The docs page of the service, or of the workflow in its path. It holds no facts: its script asks for the document. */
export function createDocsRoute(of: keyof typeof PLACES): RequestHandler {
  return (request, response) => {
    const { assets, root } = PLACES[of];
    const { workflowId } = request.params;
    if (of === "workflow" && !(typeof workflowId === "string" && isWorkflowId(workflowId)))
      throw new ApiError("workflow_not_found", "No workflow has such an id. Copy the id that publishing printed.");
    // A path that ends in a slash is one folder deeper.
    const up = request.path.endsWith("/") ? "../" : "";
    response
      .set({ "Content-Security-Policy": POLICY, "Cache-Control": "no-cache" })
      .type("html")
      .send(renderPage({ assets: `${up}${assets}`, document: `${up}openapi.json`, root: `${up}${root}` }));
  };
}

function renderPage({ assets, document, root }: { assets: string; document: string; root: string }): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Treadle API</title>
    <link rel="icon" type="image/png" href="${assets}/favicon-32x32.png">
    <link rel="stylesheet" href="${assets}/swagger-ui.css">
    <link rel="stylesheet" href="${assets}/docs.css">
    <script src="${assets}/swagger-ui-bundle.js" defer></script>
    <script src="${assets}/docs.js" defer></script>
  </head>
  <body>
    <form id="key" hidden>
      <h1>API of a workflow</h1>
      <p>What it takes and gives is shown to who may call it. Publishing has named its key; the page keeps it while it is open.</p>
      <label for="api-key">API key of this workflow</label>
      <input id="api-key" type="password" autocomplete="off" required>
      <button>Show</button>
    </form>
    <p id="problem" role="alert" hidden></p>
    <main id="docs" data-document="${document}" data-root="${root}"></main>
    <noscript>This page needs JavaScript. The document itself: <a href="${document}">${document}</a>.</noscript>
  </body>
</html>
`;
}
