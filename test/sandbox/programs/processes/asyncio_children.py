import asyncio


async def main():
    process = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    text, _ = await process.communicate(b"through cat")
    shell = await asyncio.create_subprocess_shell("exit 4")
    return [text.decode(), process.returncode, await shell.wait()]
