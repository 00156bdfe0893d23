import weakref


class Node:
    pass


def main():
    gone = []
    for number in range(20_000):
        node = Node()
        node.itself = node
        if number == 0:
            weakref.finalize(node, gone.append, number)
    return gone
