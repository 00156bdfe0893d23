OWN = "asyncio of the commit"
