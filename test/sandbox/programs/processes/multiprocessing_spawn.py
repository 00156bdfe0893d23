import multiprocessing


def square(number):
    return number * number


def fill(queue, value):
    value.value += 1
    queue.put(multiprocessing.current_process().name)


def main():
    context = multiprocessing.get_context("spawn")
    value = context.Value("i", 41)
    queue = context.Queue()
    process = context.Process(target=fill, args=(queue, value), name="filler")
    process.start()
    name = queue.get(timeout=10)
    process.join()
    with context.Pool(2) as pool:
        squares = pool.map(square, range(5))
    return [name, value.value, squares, process.exitcode]
