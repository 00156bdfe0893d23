import asyncio


async def main(count):
    await asyncio.sleep(0)
    results = await asyncio.gather(*[double(number) for number in range(count)])
    print(results)
    return {"sum": sum(results), "loop": type(asyncio.get_running_loop()).__name__}


async def double(number):
    await asyncio.sleep(0.001 * (3 - number))
    return number * 2
