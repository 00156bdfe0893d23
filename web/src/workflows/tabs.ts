/** The tabs of a workflow, in their order, and what each is for. Each is a route below `workflow` in `../app/router.tsx`. */
export const TABS = [
  { to: "/workflows/$workflowId/overview", label: "Overview", purpose: "How this workflow is doing." },
  { to: "/workflows/$workflowId/run", label: "Run", purpose: "Start a run with the inputs you choose." },
  { to: "/workflows/$workflowId/code", label: "Code", purpose: "Its files: edit, try and commit them." },
  {
    to: "/workflows/$workflowId/api",
    label: "API Trigger",
    purpose: "Start a run from another program with one HTTP call.",
  },
  { to: "/workflows/$workflowId/schedule", label: "Schedule", purpose: "Runs that start at set times." },
  { to: "/workflows/$workflowId/runs", label: "Runs", purpose: "What ran, the newest first." },
  { to: "/workflows/$workflowId/commits", label: "Commits", purpose: "Every version: compare two, or restore one." },
  {
    to: "/workflows/$workflowId/settings",
    label: "Settings",
    purpose: "Name, limits, secrets and variables; duplicate or delete it.",
  },
] as const;
