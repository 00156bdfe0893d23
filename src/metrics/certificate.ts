import { X509Certificate } from "node:crypto";
import { Gauge, type Registry } from "prom-client";

/** A process reads the certificate at its start alone: so long there is for a restart. */
const WARNED_BEFORE_MS = 14 * 86_400_000;

interface Warner {
  warn(facts: object, message: string): void;
}

/** Shows when the certificate ends that callers are served; `endsAt` is in milliseconds. */
export function showCertificate(registry: Registry, endsAt: () => number): void {
  new Gauge({
    name: "treadle_certificate_expires_timestamp_seconds",
    help: "When the certificate ends that this process serves",
    registers: [registry],
    collect() {
      this.set(Math.floor(endsAt() / 1_000));
    },
  });
}

/** Shows when the certificate ends that this process shows Temporal, and warns at the start of one that ends soon. */
export function showTemporalCertificate(registry: Registry, certPem: string, log: Warner): void {
  const endsAt = Date.parse(new X509Certificate(certPem).validTo);
  if (endsAt - Date.now() < WARNED_BEFORE_MS)
    log.warn(
      { event: "certificate.ending", endsAt: new Date(endsAt).toISOString() },
      "The certificate of TEMPORAL_TLS_CERT ends soon. Put a new one there, and restart the processes one after the other.",
    );
  new Gauge({
    name: "treadle_temporal_certificate_expires_timestamp_seconds",
    help: "When the certificate ends that this process shows Temporal",
    registers: [registry],
    collect() {
      this.set(Math.floor(endsAt / 1_000));
    },
  });
}
