import unittest


class Sums(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(1 + 1, 2)

    def test_wrong(self):
        self.assertEqual(1 + 1, 3)


def main():
    result = unittest.TextTestRunner(verbosity=0).run(unittest.defaultTestLoader.loadTestsFromTestCase(Sums))
    return [result.testsRun, len(result.failures)]
