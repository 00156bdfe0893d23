import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { aCertificate } from "../support/https.ts";

/** A mail server on loopback that wants STARTTLS and a sign-in. */
export async function aMailServer() {
  const { cert, key } = await aCertificate();
  const mails: string[] = [];
  const state = { password: "pass word/1", greylisted: 0, sessionsWithoutTls: 0 };
  const server = new SMTPServer({
    cert,
    key,
    onAuth({ username, password }, session, done) {
      if (!session.secure) state.sessionsWithoutTls += 1;
      if (username === "treadle" && password === state.password) return done(null, { user: username });
      return done(new Error("Authentication credentials invalid"));
    },
    onRcptTo({ address }, _session, done) {
      if (address.startsWith("nobody@")) return done(Object.assign(new Error("No such user"), { responseCode: 550 }));
      state.greylisted -= 1;
      if (state.greylisted >= 0) return done(Object.assign(new Error("Greylisted"), { responseCode: 451 }));
      return done();
    },
    onData(stream, _session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => void chunks.push(chunk));
      stream.on("end", () => {
        mails.push(Buffer.concat(chunks).toString());
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    cert,
    mails,
    state,
    url: `smtp://treadle:${encodeURIComponent("pass word/1")}@localhost:${port}`,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
