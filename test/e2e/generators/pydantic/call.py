"""Calls a service by the clients that openapi-generator has made of its documents, as somebody's own program would."""

import hashlib
import importlib
import json
import pkgutil
from pathlib import Path
from urllib.parse import unquote

SITE = json.loads(Path("site.json").read_text())


def load(name):
    """Every module of a client, whether it is used or not."""
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{name}."):
        importlib.import_module(module.name)
    return package


class Caller:
    def __init__(self, name, example, key=None):
        self.package = load(name)
        settings = self.package.Configuration(host=SITE["url"], ssl_ca_cert=SITE["caFile"])
        settings.api_key["apiKey"] = key or SITE["examples"][example]["apiKey"]
        client = self.package.ApiClient(settings)
        self.execute = self.package.WorkflowsApi(client).execute_workflow
        self.executions = self.package.ExecutionsApi(client)

    def read(self, result, url):
        name = unquote(url.rsplit("/", 1)[1])
        content = self.executions.read_file(result.execution_id, name)
        return {"executionId": result.execution_id, "fileName": name, "sha256": hashlib.sha256(content).hexdigest()}


def upload(path):
    return (Path(path).name, Path(path).read_bytes())


def main():
    found = {}
    hello = Caller("hello", "hello")
    greeted = hello.execute(hello.package.WorkflowInputs(name="Ada", times=2))
    found["hello"] = hello.read(greeted, greeted.outputs.greeting)
    found["log"] = hello.executions.read_log(greeted.execution_id)

    nightly = Caller("nightly", "nightly")
    team = [{"name": "Ada", "hours_per_week": 40}]
    planned = nightly.execute(nightly.package.WorkflowInputs(team=team, weeks=2))
    found["nightly"] = nightly.read(planned, planned.outputs.capacity)

    merge = Caller("merge_files", "merge-files")
    merged = merge.execute(files=[upload(path) for path in SITE["files"]])
    found["merge-files"] = merge.read(merged, merged.outputs.merged)

    sales = Caller("sales_report", "sales-report")
    report = sales.execute(orders=upload(SITE["orders"]), region="EU")
    found["sales-report"] = sales.read(report, report.outputs.report)

    kinds = Caller("kinds", "kinds")
    echoed = kinds.execute(kinds.package.WorkflowInputs(name="Ada", colors=["dark blue"], size="L"))
    found["kinds"] = kinds.read(echoed, echoed.outputs.echo)

    service = Caller("service", "hello")
    greeted = service.execute(SITE["examples"]["hello"]["workflowId"], {"name": "Ada"})
    found["service"] = service.read(greeted, greeted.outputs["greeting"])

    refused = Caller("hello", "hello", key="trd_wrong")
    try:
        refused.execute(hello.package.WorkflowInputs(name="Ada"))
    except hello.package.exceptions.UnauthorizedException as error:
        found["refused"] = json.loads(error.body)["error"]
    print(json.dumps(found))


main()
