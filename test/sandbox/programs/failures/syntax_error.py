print("never")
def main(:
    pass
