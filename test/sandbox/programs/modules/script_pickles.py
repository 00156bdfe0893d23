import pickle


class Point:
    pass


print(type(pickle.loads(pickle.dumps(Point()))) is Point, Point.__module__)
