import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { generate } from "selfsigned";
import { startHolder } from "../../../sandbox/network/commands.ts";
import { POSTGRES_USER } from "../../../src/setup/servers/postgres-data.ts";
import { joinTestServer } from "../../support/postgres-server.ts";
import { PROGRAMS } from "./bench.ts";
import { OUTSIDE, type World } from "./world.ts";

/** PostgreSQL of the tests, at an address of the company: bytes go to its socket and back as they are. */
const DATABASE = `
import socket, sys, threading
def pass_on(source, target):
    while data := source.recv(65536):
        target.sendall(data)
    target.close()
server = socket.create_server(("${OUTSIDE.private10}", 5432))
def serve():
    while True:
        client, _ = server.accept()
        database = socket.socket(socket.AF_UNIX)
        database.connect(sys.argv[1])
        for pair in ((client, database), (database, client)):
            threading.Thread(target=pass_on, args=pair, daemon=True).start()
threading.Thread(target=serve, daemon=True).start()
`;
/** A web server with TLS that sends those who ask for it on to a private address. */
const WEB = `
import http.server, ssl, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(302 if self.path == "/redirect" else 200)
        self.send_header("Location", "http://${OUTSIDE.private10}:8080/")
        self.end_headers()
        self.wfile.write(b"web")
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("${OUTSIDE.internet}", 8443), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
`;
/** A holder ends with its input, and says with a line that it is there. */
const UNTIL_END = "\nprint(flush=True)\nsys.stdin.read()\n";

/** What programs know of the company: whom they trust, and who they are at the database. */
export interface Company {
  readonly certificate: string;
  readonly databaseUser: string;
  close(): Promise<void>;
}

/** A company network outside: a PostgreSQL at `OUTSIDE.private10`, and `example.test:8443` with TLS on the internet. */
export async function openCompany(world: World): Promise<Company> {
  const { cert, private: key } = await generate([{ name: "commonName", value: "example.test" }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "subjectAltName", altNames: [{ type: 2, value: "example.test" }] },
    ],
  });
  const file = join(world.dir, "company.pem");
  writeFileSync(file, `${key}\n${cert}`);
  const socket = join(await joinTestServer(), ".s.PGSQL.5432");
  const serve = (code: string, argument: string) =>
    startHolder({ runAs: undefined, prefix: world.enterOutside }, [
      PROGRAMS.python3,
      "-I",
      "-c",
      code + UNTIL_END,
      argument,
    ]);
  const holders = [await serve(DATABASE, socket), await serve(WEB, file)];
  return {
    certificate: cert,
    databaseUser: POSTGRES_USER,
    async close() {
      for (const holder of holders) await holder.close();
    },
  };
}
