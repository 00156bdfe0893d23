from plugins import first


def main():
    import plugins

    return [first.NAME, list(plugins.__path__)]
