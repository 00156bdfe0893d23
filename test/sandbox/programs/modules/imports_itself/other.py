def look():
    import main

    return [main.STATE, main.__name__]
