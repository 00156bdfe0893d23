import type { z } from "zod";
import type { DraftPreview } from "../../../domain/api/drafts.ts";

type Counted = Readonly<NonNullable<z.infer<typeof DraftPreview>["calls"]>["triggers"]>;

const ONE = { api: "call by API", form: "run by the form" } as const;
const MANY = { api: "calls by API", form: "runs by the form" } as const;

/** Reports how many of the last accepted calls, of each trigger, a commit would refuse. */
export function describeRefused(triggers: Counted): string {
  const counts = triggers
    .filter(({ refused }) => refused > 0)
    .map(({ trigger, calls, refused }) =>
      calls === 1 ? `the only ${ONE[trigger]} so far` : `${refused} of the last ${calls} ${MANY[trigger]}`,
    );
  const words = counts.join(" and ");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)} would be refused`;
}
