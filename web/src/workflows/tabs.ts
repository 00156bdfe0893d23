/** The tabs of a workflow, in their order, and what each is for. Each is a route below `workflow` in `../app/router.tsx`. */
export const TABS = [
  { to: "/workflows/$workflowId/overview", label: "Overview", purpose: "How this workflow is doing." },
  { to: "/workflows/$workflowId/run", label: "Run", purpose: "Start it by hand, with inputs of your choice." },
  { to: "/workflows/$workflowId/code", label: "Code", purpose: "Its files: edit, try and commit them." },
  { to: "/workflows/$workflowId/api", label: "API Trigger", purpose: "Start it from another program by one call." },
  { to: "/workflows/$workflowId/schedule", label: "Schedule", purpose: "When it starts by itself." },
  { to: "/workflows/$workflowId/runs", label: "Runs", purpose: "What ran, the newest first." },
  { to: "/workflows/$workflowId/commits", label: "Commits", purpose: "Every version, to compare and to go back to." },
  { to: "/workflows/$workflowId/settings", label: "Settings", purpose: "Its name, its values, a copy, and its end." },
] as const;
