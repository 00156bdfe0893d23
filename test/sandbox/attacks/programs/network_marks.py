"""Marks in the network: listeners, abstract sockets, connections that linger, counters."""

from siege import INPUTS, connect, detach, finish, got, os, socket


def plant():
    def listen():
        import time

        servers = [socket.create_server(("0.0.0.0", 4711)), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
        servers[1].bind("\0planted")
        servers[1].listen()
        servers[2].bind(("127.0.0.1", 4712))
        os.write(write, b"up")
        time.sleep(20)

    read, write = os.pipe()
    detach(listen)
    os.read(read, 2)
    with socket.create_server(("127.0.0.1", 4713)) as server:
        client = socket.create_connection(("127.0.0.1", 4713))
        accepted, _ = server.accept()
        client.close()
        accepted.close()


def look():
    for what, address in (("tcp", ("127.0.0.1", 4711)), ("abstract", "\0planted")):
        try:
            connect(socket.AF_INET if what == "tcp" else socket.AF_UNIX, address, 0.2)
        except (TimeoutError, socket.timeout):
            got("a listener", what)
        except OSError:
            pass
    for file in ("tcp", "udp"):
        for line in open("/proc/net/" + file).read().splitlines()[1:]:
            port = int(line.split()[1].rpartition(":")[2], 16)
            if 4711 <= port <= 4713:
                got("a trace in /proc/net/" + file, port)
    if "planted" in open("/proc/net/unix").read():
        got("a trace in /proc/net/unix")
    counters = open("/proc/net/snmp").read().split("\n")
    names, values = (line.split() for line in counters if line.startswith("Tcp:"))
    if int(values[names.index("PassiveOpens")]) > 0:
        got("a counter", "PassiveOpens")


if INPUTS["look"] and not INPUTS["plant"]:
    look()
elif INPUTS["plant"]:
    plant()
    if INPUTS["look"]:
        look()
finish()
