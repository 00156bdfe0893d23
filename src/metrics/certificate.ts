import { Gauge, type Registry } from "prom-client";

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
