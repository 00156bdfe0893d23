import * as z from "zod";

/** `limits.network` of `config.yaml`: true, false, or destinations. */
export const NetworkSchema = z.union(
  [
    z.boolean(),
    z.strictObject({
      to: z.array(z.string()).meta({
        description:
          'Destinations that the operator granted, by name, and public hosts with ports: "api.example.com:443".',
      }),
    }),
  ],
  { error: "must be true, false, or a list of destinations, such as { to: [warehouse] }." },
);
