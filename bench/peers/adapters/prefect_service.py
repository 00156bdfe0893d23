"""Prefect's side of the suite: a background task that runs a program, its worker, and an HTTP front that waits for it."""

import asyncio
import os
import subprocess

import uvicorn
from fastapi import FastAPI
from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.task_worker import TaskWorker

PROGRAMS = os.environ["BENCH_PROGRAMS"]
app = FastAPI()


@task(persist_result=True, cache_policy=NO_CACHE)
def run_program(program, value):
    env = {"PATH": "/usr/bin:/bin"}
    if program == "pandas":
        env["PYTHONPATH"] = os.environ["BENCH_PACKAGES"]
    command = [os.environ["BENCH_PYTHON"], f"{PROGRAMS}/{program}/main.py", value]
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True, text=True).stdout.strip()


@app.get("/health")
async def health():
    return "ready"


@app.post("/run")
async def run(call: dict):
    future = await asyncio.to_thread(run_program.delay, call["program"], call["value"])
    return {"answer": await future.result_async()}


async def serve():
    front = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=int(os.environ["BENCH_PORT"]), log_level="error"))
    await asyncio.gather(TaskWorker(run_program).start(), front.serve())


asyncio.run(serve())
