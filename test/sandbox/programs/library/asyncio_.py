import asyncio


async def fail():
    await asyncio.sleep(0.01)
    raise ValueError("in a task")


async def main():
    results = await asyncio.gather(fail(), asyncio.sleep(0, "slept"), return_exceptions=True)
    try:
        await asyncio.wait_for(asyncio.sleep(10), 0.02)
    except asyncio.TimeoutError:
        results.append("timed out")
    queue = asyncio.Queue()
    producer = asyncio.create_task(queue.put(1))
    results.append(await queue.get())
    await producer
    results.append(await asyncio.to_thread(lambda: "thread"))
    reader, writer = await asyncio.open_connection(sock=await self_connected())
    writer.close()
    lost = asyncio.get_running_loop().create_task(fail())  # noqa: F841
    await asyncio.sleep(0.05)
    return [str(each) for each in results]


async def self_connected():
    import socket

    ours, theirs = socket.socketpair()
    theirs.close()
    return ours
