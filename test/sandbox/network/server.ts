/**
 * The world's servers, in Python since Node.js may lie where only root may go: TCP and UDP ports that say who they are,
 * and a resolver. Ends with its input. To a UDP packet `again` it answers for ten seconds. After `move on` a name with several
 * addresses leads to the next one.
 */
export const SERVER = `
import json, os, selectors, socket, struct, sys, time
label, tcp, udp, addresses, names = json.loads(sys.argv[1])
selector = selectors.DefaultSelector()
repeats = []

def listen(kind, port, address="0.0.0.0"):
    server = socket.socket(socket.AF_INET, kind)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((address, port))
    if kind == socket.SOCK_STREAM:
        server.listen(1024)
    return server

def accept(server):
    client, _ = server.accept()
    client.setblocking(False)
    client.send(label.encode())
    selector.register(client, selectors.EVENT_READ, read)

def read(client):
    try:
        data = client.recv(65536)
        if data:
            client.send(data)
            return
    except OSError:
        pass
    selector.unregister(client)
    client.close()

def answer(server):
    data, peer = server.recvfrom(65536)
    for found in names.values():
        if data == b"move on" and isinstance(found, list) and len(found) > 1:
            found.pop(0)
    if data == b"again":
        repeats.append((time.monotonic() + 10, server, peer))
    server.sendto(label.encode(), peer)

def resolve(server):
    query, peer = server.recvfrom(4096)
    end, words = 12, []
    while query[end]:
        words.append(query[end + 1:end + 1 + query[end]].decode())
        end += 1 + query[end]
    kind, = struct.unpack("!H", query[end + 1:end + 3])
    address = names.get(".".join(words))
    if isinstance(address, list):
        address = address[0]
    found = address is not None and kind == 1
    header = query[:2] + struct.pack("!HHHHH", 0x8180 if address else 0x8183, 1, 1 if found else 0, 0, 0)
    reply = header + query[12:end + 5]
    if found:
        reply += b"\\xc0\\x0c" + struct.pack("!HHIH", 1, 1, 0, 4) + socket.inet_aton(address)
    server.sendto(reply, peer)

for port in tcp:
    selector.register(listen(socket.SOCK_STREAM, port), selectors.EVENT_READ, accept)
for address in addresses: # each on a socket of its own, so that the answer comes from where the question went
    for port in udp:
        selector.register(listen(socket.SOCK_DGRAM, port, address), selectors.EVENT_READ, answer)
    if names:
        selector.register(listen(socket.SOCK_DGRAM, 53, address), selectors.EVENT_READ, resolve)
selector.register(0, selectors.EVENT_READ, lambda _: os.read(0, 1) or os._exit(0))
print(flush=True)
while True:
    for key, _ in selector.select(0.05):
        key.data(key.fileobj)
    repeats = [repeat for repeat in repeats if repeat[0] > time.monotonic()]
    for _, server, peer in repeats:
        server.sendto(b"late", peer)
`;

/** What programs in a slot try: connects to each of `[protocol, host, port]` and prints what it heard, or the error, and the time. */
export const CLIENT = `
import errno, json, socket, sys, time
def try_one(protocol, host, port):
    started = time.monotonic()
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM) as client:
            client.settimeout(2)
            client.connect((host, port))
            if protocol == "udp":
                client.send(b"hello")
            said = client.recv(100).decode()
    except socket.gaierror as error:
        said = "no such name"
    except TimeoutError:
        said = "timeout"
    except OSError as error:
        said = errno.errorcode.get(error.errno, str(error))
    return said, round(1000 * (time.monotonic() - started))
print(json.dumps([try_one(*target) for target in json.loads(sys.argv[1])]))
`;
