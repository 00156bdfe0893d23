import { Client } from "@temporalio/client";
import type { NativeConnection } from "@temporalio/worker";
import { TASK_QUEUE } from "../../activities/task-queues.ts";
import type { deliverNotice } from "../../workflows/index.ts";

/** Starts the workflow that delivers a notice; one that is at work is left as it is. */
export type StartDelivery = (noticeId: string) => Promise<void>;

/** Returns what starts deliveries. One that has ended is started anew: the record says whether anything is left to send. */
export function createStartDelivery(connection: NativeConnection, namespace: string): StartDelivery {
  const client = new Client({ connection, namespace });
  return async (noticeId) => {
    await client.workflow.start<typeof deliverNotice>("deliverNotice", {
      workflowId: noticeId,
      taskQueue: TASK_QUEUE,
      args: [{ noticeId }],
      workflowIdReusePolicy: "ALLOW_DUPLICATE",
      workflowIdConflictPolicy: "USE_EXISTING",
      staticSummary: "A notice to a place",
    });
  };
}
