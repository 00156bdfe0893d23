import other

STATE = []


def main():
    STATE.append("main")
    return [other.look(), __name__]
