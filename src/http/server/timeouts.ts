import type { Settings } from "../../config.ts";
import { type BodyPace, LINGERING } from "./request-body.ts";

/** How long a connection may take for each part of its call. */
export interface Timeouts {
  /** Before it sends anything. */
  readonly firstByteMs: number;
  readonly handshakeMs: number;
  readonly headersMs: number;
  /** Between two calls. */
  readonly keepAliveMs: number;
  readonly pace: BodyPace;
}

/** Returns the timeouts of this installation. How long an early answer lingers is not a setting. */
export function timeoutsOf(settings: Settings): Timeouts {
  return {
    firstByteMs: settings.TREADLE_FIRST_BYTE_SECONDS * 1000,
    handshakeMs: settings.TREADLE_HANDSHAKE_SECONDS * 1000,
    headersMs: settings.TREADLE_HEADERS_SECONDS * 1000,
    keepAliveMs: settings.TREADLE_KEEP_ALIVE_SECONDS * 1000,
    pace: {
      ...LINGERING,
      windowMs: settings.TREADLE_TRANSFER_WINDOW_SECONDS * 1000,
      bytesMin: settings.TREADLE_TRANSFER_BYTES_MIN,
      wholeMs: settings.TREADLE_BODY_SECONDS * 1000,
      bytesPerSecond: settings.TREADLE_BODY_BYTES_PER_SECOND,
    },
  };
}
