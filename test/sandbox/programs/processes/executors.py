from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor


def cube(number):
    if number == 3:
        raise ValueError("three")
    return number**3


def main():
    results = []
    for kind in (ThreadPoolExecutor, ProcessPoolExecutor):
        with kind(max_workers=2) as pool:
            futures = [pool.submit(cube, number) for number in range(5)]
            results.append([future.exception() and str(future.exception()) or future.result() for future in futures])
    return results
