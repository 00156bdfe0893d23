/** The task queue of Workflow Definitions and of the activities that may run anywhere. */
export const TASK_QUEUE = "executions";

/** The task queue only one host listens to: the one whose spool holds the outputs. */
export function hostQueue(hostId: string): string {
  return `host-${hostId}`;
}
