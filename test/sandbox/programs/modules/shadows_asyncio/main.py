"""The runner takes a loop of Python's own, whatever is beside this file."""


async def main():
    import asyncio

    return asyncio.OWN
