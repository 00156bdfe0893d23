/** The tabs of a workflow, in their order. Each is a route below `workflow` in `../app/router.tsx`. */
export const TABS = [
  { to: "/workflows/$workflowId/run", label: "Run" },
  { to: "/workflows/$workflowId/runs", label: "Runs" },
] as const;
