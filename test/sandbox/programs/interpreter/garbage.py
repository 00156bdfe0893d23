import gc


class Node:
    pass


def main():
    gone = []
    node = Node()
    node.itself = node
    import weakref

    weakref.finalize(node, gone.append, "collected")
    del node
    found = gc.collect()
    return {"enabled": gc.isenabled(), "threshold": gc.get_threshold(), "debug": gc.get_debug(), "found": found > 0, "gone": gone, "callbacks": gc.callbacks, "garbage": gc.garbage}
