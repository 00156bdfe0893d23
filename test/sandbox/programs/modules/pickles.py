import copy
import pickle
from dataclasses import dataclass


@dataclass
class Point:
    x: int


class Node:
    def __reduce__(self):
        return (Node, ())


def main():
    data = pickle.dumps([Point(3), Point, main])
    points = pickle.loads(data)
    return [points[0].x, points[1] is Point, points[2] is main, Point.__module__, type(copy.deepcopy(Node())).__name__, data.count(b"main")]
