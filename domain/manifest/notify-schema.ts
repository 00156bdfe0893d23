import * as z from "zod";

/** Which places of the account get notices of what, by their names. A missing key: none do. */
export interface Notify {
  readonly failure?: readonly string[];
  readonly recovery?: readonly string[];
  readonly missed?: readonly string[];
  readonly slow?: { readonly afterSeconds: number; readonly to: readonly string[] };
}

const places = z.array(z.string({ error: "must be the name of a place to tell." }), {
  error: "must be a list of places to tell, such as [ops].",
});

/** `notify` of `config.yaml`, key by key. */
export const NotifySchema = z.strictObject({
  failure: places.optional().meta({ description: "Places that are told when a run fails." }),
  recovery: places.optional().meta({ description: "Places that are told of the first success after a failure." }),
  missed: places.optional().meta({ description: "Places that are told when a scheduled run did not start." }),
  slow: z
    .strictObject({
      after: z
        .union([z.string(), z.number()], { error: "must be a duration such as 10m." })
        .meta({ description: "How long a run may take before they are told: 10m, 1h." }),
      to: places.meta({ description: "Places that are told when a run takes longer." }),
    })
    .optional()
    .meta({ description: "Who is told when a run takes long." }),
});
