/** The tabs of a workflow, in their order. Each is a route below `workflow` in `../app/router.tsx`. */
export const TABS = [
  { to: "/workflows/$workflowId/overview", label: "Overview" },
  { to: "/workflows/$workflowId/run", label: "Run" },
  { to: "/workflows/$workflowId/code", label: "Code" },
  { to: "/workflows/$workflowId/api", label: "API Trigger" },
  { to: "/workflows/$workflowId/schedule", label: "Schedule" },
  { to: "/workflows/$workflowId/runs", label: "Runs" },
  { to: "/workflows/$workflowId/commits", label: "Commits" },
  { to: "/workflows/$workflowId/settings", label: "Settings" },
] as const;
