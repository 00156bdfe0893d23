import { z } from "zod";
import { DESTINATION_NAME, findGrantProblem, parseEndpoint } from "../destinations.ts";
import { Time, WorkflowId } from "./fields.ts";

/** The name of a destination, as bodies and paths have it. */
export const DestinationName = z.string().regex(DESTINATION_NAME, {
  error: "must be letters, digits, - and _, at most 40, a letter or digit first.",
});

/** A destination as the operator grants it. */
export const NewDestination = z.strictObject({
  name: DestinationName,
  endpoint: z
    .string()
    .max(300)
    .meta({ description: "A host name, an IPv4 address or a range of at most a /16, with TCP ports: 10.20.0.5:5432." })
    .superRefine((text, context) => {
      const reading = parseEndpoint(text);
      const problem = "problem" in reading ? reading.problem : findGrantProblem(reading.endpoint.host);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    }),
});

const Granted = {
  name: z.string().max(40),
  endpoint: z.string(),
  createdAt: Time,
};
export const AddedDestination = z.object(Granted);

const UsedBy = z
  .array(z.object({ workflowId: WorkflowId, name: z.string() }))
  .meta({ description: "Workflows whose latest commit names it." });

export const DestinationList = z.object({
  destinations: z.array(
    z.object({ name: Granted.name, endpoint: Granted.endpoint, createdAt: Granted.createdAt, usedBy: UsedBy }),
  ),
});

export const RemovedDestination = z.object({ name: Granted.name, removed: z.boolean(), usedBy: UsedBy });
