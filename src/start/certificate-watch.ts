import type { Certificate } from "../setup/certificate.ts";

/** What renews a certificate writes its files seldom; looking costs two small files. */
const LOOK_MS = 60_000;

export interface CertificateWatchDeps {
  /** The one that is served already. */
  readonly first: Certificate;
  /** Reads certificate and key together; renews one of our own making. Rejects while they cannot be used. */
  readonly read: () => Promise<Certificate>;
  /** Serves another one to new connections. Throws when it cannot be used. */
  readonly serve: (certificate: Certificate) => void;
  readonly log: { info(facts: object, message: string): void; warn(facts: object, message: string): void };
}

export interface CertificateWatch {
  /** When the one that is served ends, in milliseconds. */
  endsAt(): number;
  /** Looks at the files now. Never rejects: what cannot be used is logged, and the one before is served on. */
  reload(): Promise<void>;
  close(): void;
}

/** Serves the certificate that its files have, looking at them every minute. */
export function watchCertificate({ first, read, serve, log }: CertificateWatchDeps): CertificateWatch {
  let current = first;
  let refused: string | undefined;

  async function look(): Promise<void> {
    try {
      const next = await read();
      refused = undefined;
      if (next.certPem === current.certPem && next.keyPem === current.keyPem) return;
      serve(next);
      current = next;
      const facts = { fingerprint: next.fingerprint, endsAt: new Date(next.endsAt).toISOString() };
      log.info({ event: "certificate.replaced", ...facts }, "Another certificate is served from now on.");
    } catch (error) {
      const { message } = error as Error;
      if (message !== refused)
        log.warn(
          { event: "certificate.refused", error },
          "The certificate's files cannot be used; the one before stays.",
        );
      refused = message;
    }
  }

  let looking = Promise.resolve();
  const reload = (): Promise<void> => {
    looking = looking.then(look);
    return looking;
  };
  const timer = setInterval(() => void reload(), LOOK_MS).unref();
  return { endsAt: () => current.endsAt, reload, close: () => clearInterval(timer) };
}
