import { Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, Outlet, useLocation } from "@tanstack/react-router";
import { isFinal } from "../app/api-error.ts";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import { TabLinks } from "../app/tab-links.tsx";
import { useTitle } from "../app/title.ts";
import classes from "./frame.module.css";
import { TABS } from "./tabs.ts";
import { workflowQuery } from "./workflows.ts";

const route = getRouteApi("/signed-in/workflows/$workflowId");

/** What all tabs of a workflow have around them: its name, and the way from one to the other. */
export function WorkflowFrame() {
  const params = route.useParams();
  const workflow = useQuery(workflowQuery(params.workflowId));
  const pathname = useLocation({ select: (location) => location.pathname });
  // Undefined while the page that follows is being opened: its own title comes with it.
  const tab = TABS.find(({ to }) => pathname.endsWith(to.slice(to.lastIndexOf("/"))));
  useTitle(workflow.data && tab && `${tab.label} · ${workflow.data.name}`);
  // What is entered below stays while only the latest look has failed.
  const isGone = workflow.isLoadingError || isFinal(workflow.error);
  if (isGone) return <ErrorState error={workflow.error} onRetry={() => void workflow.refetch()} />;
  return (
    <>
      <header className={classes.head}>
        <Link to="/" className={classes.up}>
          Workflows
        </Link>
        <Title order={1} className={classes.name}>
          {workflow.data?.name ?? "…"}
        </Title>
      </header>
      <TabLinks label="Parts of this workflow" purpose={tab?.purpose ?? ""}>
        {TABS.map(({ to, label }) => (
          <Link key={to} to={to} params={params}>
            {label}
          </Link>
        ))}
      </TabLinks>
      {workflow.isPending ? <LoadingRows label="The workflow is loading" /> : <Outlet />}
    </>
  );
}
