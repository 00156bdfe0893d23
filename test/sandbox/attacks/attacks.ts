import { HOST_ATTACKS } from "./host.ts";
import { KERNEL_ATTACKS } from "./kernel.ts";
import { LANE_ATTACKS } from "./lanes.ts";
import { OUTPUT_ATTACKS } from "./outputs.ts";
import { PACKAGE_ATTACKS } from "./packages.ts";
import { PROTOCOL_ATTACKS } from "./protocol.ts";
import { RESOURCE_ATTACKS } from "./resources.ts";
import type { Attack } from "./siege.ts";

export const ATTACKS: readonly Attack[] = [
  ...HOST_ATTACKS,
  ...KERNEL_ATTACKS,
  ...RESOURCE_ATTACKS,
  ...OUTPUT_ATTACKS,
  ...PROTOCOL_ATTACKS,
  ...LANE_ATTACKS,
  ...PACKAGE_ATTACKS,
];
/** Nobody loses one unseen. */
export const ATTACKS_EXPECTED = 81;
