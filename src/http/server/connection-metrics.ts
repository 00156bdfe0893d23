import { Counter, Gauge, type Registry } from "prom-client";
import type { ConnectionFigures, Connections } from "./connections.ts";

/** Shows how many connections are open and may be, and what became of those beyond the bounds. */
export function countConnections(registry: Registry, connections: Connections): void {
  const registers = [registry];
  const addGauge = (name: string, help: string, read: (figures: ConnectionFigures) => number): void => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read(connections.figures()));
      },
    });
  };
  addGauge("treadle_connections", "Connections of callers that are open", ({ open }) => open);
  addGauge("treadle_connections_max", "Connections that may be open", ({ max }) => max);
  new Counter({
    name: "treadle_connections_refused_total",
    help: "New connections beyond a bound: answered 503 or closed; idle ones that were ended to make room",
    labelNames: ["by"],
    registers,
    collect() {
      const { refused, closed, ended } = connections.figures();
      this.reset();
      for (const [by, count] of Object.entries({ 503: refused, closed, idle: ended })) this.inc({ by }, count);
    },
  });
}
