// The script of the docs pages, as browsers run it.
const docs = document.querySelector("#docs");
const form = document.querySelector("#key");
const problem = document.querySelector("#problem");

/** Shows the document that belongs to this page; asks for a key where it is not to be had without. */
async function show(apiKey) {
  const answer = await fetch(docs.dataset.document, {
    headers: apiKey === undefined ? {} : { "x-api-key": apiKey },
  });
  const body = await answer.json();
  form.hidden = answer.status !== 401;
  problem.hidden = answer.ok || (answer.status === 401 && apiKey === undefined);
  problem.textContent = answer.ok ? "" : body.message;
  if (!answer.ok) return;
  document.title = body.info.title;
  // Calls go where this page came from: under another of the service's names they would be another site's.
  body.servers = [{ url: new URL(docs.dataset.root, location.href).href.replace(/\/$/, "") }];
  const ui = globalThis.SwaggerUIBundle({
    domNode: docs,
    spec: body,
    // The default asks a website for its opinion of the document.
    validatorUrl: null,
    requestInterceptor: (request) => adaptForm(request, listFiles(body)),
    onComplete() {
      if (apiKey !== undefined) ui.preauthorizeApiKey("apiKey", apiKey);
    },
  });
}

/** The names of the inputs that are files, for a page of one workflow. */
function listFiles(body) {
  const properties = Object.entries(body.components.schemas.WorkflowForm?.properties ?? {});
  return new Set(
    properties.filter(([, property]) => (property.items ?? property).format === "binary").map(([name]) => name),
  );
}

/**
 * Swagger UI sends JSON parts as browsers send files, under the name "blob", and a text in place of each file that was not
 * chosen. The service would say no to both.
 */
async function adaptForm(request, files) {
  if (!(request.body instanceof FormData)) return request;
  const form = new FormData();
  for (const [name, value] of request.body) {
    if (typeof value === "string" && files.has(name)) continue;
    const isJson = value instanceof Blob && value.type === "application/json" && !files.has(name);
    form.append(name, isJson ? await value.text() : value);
  }
  request.body = form;
  return request;
}

function explain(error) {
  problem.hidden = false;
  problem.textContent = `The document could not be shown: ${error.message}`;
}

const dark = matchMedia("(prefers-color-scheme: dark)");
/** Swagger UI has both sets of colours and does not ask which is wanted. */
function paint() {
  document.documentElement.classList.toggle("dark-mode", dark.matches);
}
dark.addEventListener("change", paint);
paint();

form.addEventListener("submit", (event) => {
  event.preventDefault();
  show(form.querySelector("#api-key").value).catch(explain);
});
show().catch(explain);
