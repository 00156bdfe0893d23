"""Calls a service by the clients that openapi-python-client has made of its documents, as somebody's own program would."""

import hashlib
import importlib
import json
import pkgutil
import ssl
import sys
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote

SITE = json.loads(Path("site.json").read_text())
TLS = ssl.create_default_context(cafile=SITE["caFile"])


def load(name):
    """Every module of a client, whether it is used or not."""
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{name}."):
        importlib.import_module(module.name)
    return package


class Caller:
    def __init__(self, package, example, key=None):
        workflow = SITE["examples"][example]
        self.package = load(package)
        self.workflow_id = workflow["workflowId"]
        self.client = self.package.AuthenticatedClient(
            base_url=SITE["url"],
            token=key or workflow["apiKey"],
            prefix="",
            auth_header_name="x-api-key",
            verify_ssl=TLS,
        )
        self.models = sys.modules[f"{package}.models"]
        self.types = sys.modules[f"{package}.types"]

    def api(self, tag, name):
        return sys.modules[f"{self.package.__name__}.api.{tag}.{name}"]

    def execute(self, *path, **given):
        return self.api("workflows", "execute_workflow").sync(*path, client=self.client, **given)

    def file(self, path):
        path = Path(path)
        return self.types.File(payload=BytesIO(path.read_bytes()), file_name=path.name, mime_type="text/csv")

    def read(self, result, output):
        assert isinstance(result, self.models.Success), result
        name = unquote(result.outputs.to_dict()[output].rsplit("/", 1)[1])
        file = self.api("executions", "read_file").sync(result.execution_id, name, client=self.client)
        digest = hashlib.sha256(file.payload.read()).hexdigest()
        return {"executionId": result.execution_id, "fileName": name, "sha256": digest}


def main():
    found = {}
    hello = Caller("hello", "hello")
    inputs = hello.models.WorkflowInputs
    found["hello"] = hello.read(hello.execute(body=inputs(name="Ada")), "greeting")

    nightly = Caller("nightly", "nightly")
    team = [{"name": "Ada", "hours_per_week": 40}]
    body = nightly.models.WorkflowInputs(team=team, weeks=2)
    found["nightly"] = nightly.read(nightly.execute(body=body), "capacity")

    merge = Caller("merge_files", "merge-files")
    body = merge.models.WorkflowForm(files=[merge.file(path) for path in SITE["files"]])
    found["merge-files"] = merge.read(merge.execute(body=body), "merged")

    sales = Caller("sales_report", "sales-report")
    region = sales.models.WorkflowFormRegion.EU
    body = sales.models.WorkflowForm(orders=sales.file(SITE["orders"]), region=region)
    found["sales-report"] = sales.read(sales.execute(body=body), "report")

    any_one = Caller("service", "hello")
    body = any_one.models.WorkflowInputs.from_dict({"name": "Ada"})
    found["service"] = any_one.read(any_one.execute(any_one.workflow_id, body=body), "greeting")

    refused = Caller("hello", "hello", key="trd_wrong").execute(body=inputs(name="Ada"))
    assert isinstance(refused, hello.models.Unauthorized), refused
    found["refused"] = refused.error
    print(json.dumps(found))


main()
