"""Runs Temporal's server in a network namespace of its own, behind one proxy.

The development server listens on six ports, and none of them asks who calls. In a namespace of their own nobody reaches
them. The proxy is a TCP port of the host. It refuses callers without a client certificate of the service's own authority.

argv: the proxy's port, the ports of gRPC and of the web interface inside, then the server's command line. With a port
of 0 it only tries whether a namespace can be had. The environment variable TEMPORAL_PROXY holds JSON with `ca`, `cert`
and `key` as PEM texts; the server does not get it. This process becomes the server, so that pid and signals are the
server's own; the proxy is its child and ends with it.
"""

import ctypes
import fcntl
import json
import os
import selectors
import signal
import socket
import struct
import sys
import time

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 1
HOST = "127.0.0.1"
BACKLOG = 128
# Callers that have not shown a certificate yet. With one more the oldest has to go.
GREETINGS_MAX = 100
HANDSHAKE_SECONDS = 10
CHUNK_BYTES = 65536
# A caller that only wants to know when the proxy is gone; nothing is sent.
WATCH = "treadle-watch"
GRPC = "h2"
EVENT_READ, EVENT_WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


def enter_namespace():
    """Unshares the network, as root or with a user namespace that maps this user to itself, and brings `lo` up."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0 and libc.unshare(CLONE_NEWNET) == 0:
        pass
    elif libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0:
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", f"{uid} {uid} 1")
        write("/proc/self/gid_map", f"{gid} {gid} 1")
    else:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh14x", request)[1]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def make_context(proxy):
    """Returns the TLS settings: this certificate, and callers with one of the same authority alone."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=proxy["ca"])
    context.set_alpn_protocols([GRPC, "http/1.1", WATCH])
    context.num_tickets = 0
    # OpenSSL loads keys from files alone. This one is in memory.
    descriptor = os.memfd_create("proxy")
    try:
        os.write(descriptor, (proxy["cert"] + proxy["key"]).encode())
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
    return context


class End:
    """One end of a passage: what arrives here is for the other end."""

    def __init__(self, proxy, connection):
        self.proxy = proxy
        self.connection = connection
        self.other = None
        self.unsent = b""
        self.ended = False
        self.events = 0

    def on_ready(self):
        """Sends what waits, then reads. The other end may hold bytes that the kernel shows no longer, so it reads as well."""
        if self.unsent:
            self.send(b"")
            if self.other is not None and not self.unsent:
                self.other.receive()
        self.receive()

    def receive(self):
        """Reads while the other end takes it."""
        while not self.ended and (self.other is None or not self.other.unsent):
            try:
                data = self.connection.recv(CHUNK_BYTES)
            except OSError as error:
                if not self.proxy.waits(error):
                    raise
                break
            self.ended = not data
            if self.other is not None:
                self.other.send(data)
                if len(data) < CHUNK_BYTES and not self.proxy.holds_more(self.connection):
                    break
        if self.ended and (self.other is None or not self.other.unsent):
            raise EOFError
        self.watch()

    def send(self, data):
        self.unsent += data
        try:
            while self.unsent:
                self.unsent = self.unsent[self.connection.send(self.unsent) :]
        except OSError as error:
            if not self.proxy.waits(error):
                raise
        self.watch()

    def watch(self):
        """Asks the kernel for what can be acted on: nothing is read while the other end is full."""
        full = self.ended or (self.other is not None and self.other.unsent)
        self.proxy.watch(self, (0 if full else EVENT_READ) | (EVENT_WRITE if self.unsent else 0))


class Greeting:
    """A caller that has not shown its certificate yet."""

    other = None

    def __init__(self, proxy, connection):
        self.proxy = proxy
        self.connection = connection
        self.until = time.monotonic() + HANDSHAKE_SECONDS
        self.events = 0
        proxy.watch(self, EVENT_READ)

    def on_ready(self):
        try:
            self.connection.do_handshake()
        except OSError as error:
            if not self.proxy.waits(error):
                raise
            return
        self.proxy.watch(self, 0)
        self.proxy.greetings.remove(self)
        self.proxy.admit(self.connection)


class Proxy:
    """Accepts callers, asks each for its certificate, and connects it with the server's port that its protocol names."""

    def __init__(self, listener, context, ports):
        import ssl

        self.not_yet = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError)
        self.context = context
        self.ports = ports
        self.listener = listener
        self.selector = selectors.DefaultSelector()
        self.greetings = []
        listener.setblocking(False)
        self.selector.register(listener, EVENT_READ, None)

    def serve(self):
        while True:
            for key, _ in self.selector.select(HANDSHAKE_SECONDS if self.greetings else None):
                if key.data is None:
                    self.accept()
                elif key.fileobj.fileno() >= 0:
                    self.act(key.data)
            while self.greetings and self.greetings[0].until < time.monotonic():
                self.close(self.greetings[0])

    def act(self, party):
        try:
            party.on_ready()
        except (EOFError, OSError):
            self.close(party)

    def accept(self):
        try:
            connection, _ = self.listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        secured = self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        if len(self.greetings) >= GREETINGS_MAX:
            self.close(self.greetings[0])
        self.greetings.append(Greeting(self, secured))

    def admit(self, connection):
        """Connects a caller whose certificate is good. Its first bytes may have come with the handshake."""
        caller = End(self, connection)
        try:
            protocol = connection.selected_alpn_protocol()
            if protocol != WATCH:
                server = socket.create_connection((HOST, self.ports[0 if protocol == GRPC else 1]))
                server.setblocking(False)
                server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                caller.other = End(self, server)
                caller.other.other = caller
                caller.other.watch()
            caller.receive()
        except (EOFError, OSError):
            self.close(caller)

    def watch(self, party, events):
        if events == party.events:
            return
        if party.events == 0:
            self.selector.register(party.connection, events, party)
        elif events == 0:
            self.selector.unregister(party.connection)
        else:
            self.selector.modify(party.connection, events, party)
        party.events = events

    def close(self, party):
        if party in self.greetings:
            self.greetings.remove(party)
        for each in (party, party.other):
            if each is not None:
                self.watch(each, 0)
                each.connection.close()

    def waits(self, error):
        """Whether there is only nothing to read, or no room to write, at the moment."""
        return isinstance(error, self.not_yet)

    def holds_more(self, connection):
        """Whether TLS holds bytes that have been taken from the kernel already."""
        return hasattr(connection, "pending") and connection.pending() > 0


def open_proxy(listener, proxy, ports, server_pid):
    """Never returns. Ends with the server, however that ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server_pid:
        os._exit(1)
    Proxy(listener, make_context(proxy), ports).serve()


def main():
    port, grpc_port, ui_port = (int(word) for word in sys.argv[1:4])
    server = sys.argv[4:]
    if port == 0:
        enter_namespace()
        import ssl  # noqa: F401

        return
    proxy = json.loads(os.environ.pop("TEMPORAL_PROXY"))
    listener = socket.create_server((HOST, port), backlog=BACKLOG)
    enter_namespace()
    server_pid = os.getpid()
    if os.fork() == 0:
        try:
            open_proxy(listener, proxy, (grpc_port, ui_port), server_pid)
        finally:
            os._exit(1)
    listener.close()
    os.execv(server[0], server)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"{type(error).__name__}: {error}")
