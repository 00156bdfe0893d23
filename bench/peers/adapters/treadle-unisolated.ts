import { treadlePeer } from "./treadle.ts";

/** To compare with peers that isolate nothing: each run is a fresh process of the service's own user. */
export const peer = treadlePeer({
  name: "Treadle, isolation off",
  isolation: "none: a fresh process",
  env: { TREADLE_ISOLATION: "none" },
});
