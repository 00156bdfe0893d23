def main(count):
    return {"module": main.__module__, "count": count}
