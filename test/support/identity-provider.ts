import { generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface IdentityProvider {
  /** Where its keys are found from. */
  readonly configUrl: string;
  readonly clientId: string;
  /** Writes a token that is good for so many seconds. */
  writeToken(path: string, seconds: number): Promise<void>;
  close(): Promise<void>;
}

const CLIENT_ID = "treadle-service";
const KEY_ID = "key-1";

/** Who says which workload this is, as a cluster does with the tokens of its service accounts. */
export async function openIdentityProvider(): Promise<IdentityProvider> {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  let issuer = "";
  const server = createServer((asked, answer) => {
    const key = { ...publicKey.export({ format: "jwk" }), kid: KEY_ID, alg: "RS256", use: "sig" };
    const isKeys = asked.url === "/keys";
    const body = isKeys ? { keys: [key] } : { issuer, jwks_uri: `${issuer}/keys` };
    answer.setHeader("content-type", "application/json").end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return {
    configUrl: `${issuer}/.well-known/openid-configuration`,
    clientId: CLIENT_ID,
    async writeToken(path, seconds) {
      const now = Math.floor(Date.now() / 1_000);
      const claims = { iss: issuer, aud: CLIENT_ID, sub: "treadle", iat: now, exp: now + seconds };
      const signed = `${encode({ alg: "RS256", typ: "JWT", kid: KEY_ID })}.${encode(claims)}`;
      await writeFile(path, `${signed}.${sign("sha256", Buffer.from(signed), privateKey).toString("base64url")}`);
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
