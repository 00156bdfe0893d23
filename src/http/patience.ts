import type { Settings } from "../config.ts";
import { type BodyPace, DEFAULT_PACE } from "./request-body.ts";

/** How long a connection may take for each part of its call. */
export interface Patience {
  /** Before it sends anything. */
  readonly firstByteMs: number;
  readonly handshakeMs: number;
  readonly headersMs: number;
  /** Between two calls. */
  readonly keepAliveMs: number;
  readonly pace: BodyPace;
}

/** The defaults of the settings. */
export const DEFAULT_PATIENCE: Patience = {
  firstByteMs: 10_000,
  handshakeMs: 10_000,
  headersMs: 30_000,
  keepAliveMs: 65_000,
  pace: DEFAULT_PACE,
};

/** How patient this installation is with connections. What follows an early answer is not a setting. */
export function patienceOf(settings: Settings): Patience {
  return {
    firstByteMs: settings.TREADLE_FIRST_BYTE_SECONDS * 1000,
    handshakeMs: settings.TREADLE_HANDSHAKE_SECONDS * 1000,
    headersMs: settings.TREADLE_HEADERS_SECONDS * 1000,
    keepAliveMs: settings.TREADLE_KEEP_ALIVE_SECONDS * 1000,
    pace: {
      ...DEFAULT_PACE,
      windowMs: settings.TREADLE_TRANSFER_WINDOW_SECONDS * 1000,
      bytesMin: settings.TREADLE_TRANSFER_BYTES_MIN,
      wholeMs: settings.TREADLE_BODY_SECONDS * 1000,
      bytesPerSecond: settings.TREADLE_BODY_BYTES_PER_SECOND,
    },
  };
}
