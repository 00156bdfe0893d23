import logging

log = logging.getLogger("shop.orders")


def main():
    log.warning("before any configuration")
    log.info("not shown")
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(process)d %(threadName)s %(module)s %(funcName)s: %(message)s")
    log.info("now it is")
    try:
        1 / 0
    except ZeroDivisionError:
        log.exception("with a traceback")
    return [len(logging.getLogger().handlers), logging.lastResort is not None]
