import multiprocessing


def main():
    process = multiprocessing.current_process()
    return [
        multiprocessing.get_start_method(),
        process.name,
        process.daemon,
        process.pid,
        len(process.authkey),
        multiprocessing.parent_process() is None,
        multiprocessing.active_children(),
        multiprocessing.cpu_count() > 0,
    ]
