import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { accountQuery, ledgerQuery, overviewOfAccountQuery } from "../account/account.ts";
import { commitsQuery } from "../commits/commits.ts";
import { executionQuery } from "../execution/execution.ts";
import { readLogLine } from "../execution/log-place.ts";
import { executionsQuery } from "../executions/executions.ts";
import { overviewQuery, workflowQuery, workflowsQuery } from "../workflows/workflows.ts";
import { toQuery, whenSignedOut } from "./api.ts";
import { ApiError } from "./api-error.ts";
import { loadPart } from "./load-part.ts";
import { LostPage } from "./lost-page.tsx";
import { queries } from "./queries.ts";
import { cleanSearch } from "./search.ts";
import { mayBeSignedIn, sessionQuery } from "./session.ts";
import { Shell } from "./shell.tsx";
import { ErrorState } from "./states.tsx";

const root = createRootRoute({ component: Outlet });

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: cleanSearch("from", "ended"),
  component: lazyRouteComponent(() => loadPart(() => import("../sign-in/sign-in-page.tsx")), "SignInPage"),
});

const join = createRoute({
  getParentRoute: () => root,
  path: "/join",
  component: lazyRouteComponent(() => loadPart(() => import("../sign-in/join-page.tsx")), "JoinPage"),
});

/** Without a session the sign-in page is shown first, and leads back. */
async function requireSession({ location }: { location: { href: string } }): Promise<void> {
  try {
    if (mayBeSignedIn()) return void (await queries.ensureQueryData(sessionQuery));
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) throw error;
  }
  redirect({ to: "/sign-in", search: location.href === "/" ? {} : { from: location.href }, throw: true });
}

/** Surrounds all pages that need a session. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: "signed-in",
  beforeLoad: requireSession,
  component: Shell,
});

/** Needs a session, and asks one question: no bar that leads away from it. */
const device = createRoute({
  getParentRoute: () => root,
  path: "/device",
  beforeLoad: requireSession,
  component: lazyRouteComponent(() => loadPart(() => import("../sign-in/device-page.tsx")), "DevicePage"),
});

const readWorkflowsSearch = cleanSearch("search");

/*
 * Loaders begin to request what a page shows while its part of the editor is still on its way. They wait for nothing, and
 * pages request what is still missing. Pointing at a link (`preload`) fetches the part, not the data.
 */

const workflows = createRoute({
  getParentRoute: () => signedIn,
  path: "/",
  validateSearch: readWorkflowsSearch,
  loader({ cause, location }) {
    if (cause !== "enter") return;
    void queries.prefetchQuery(workflowsQuery(readWorkflowsSearch(location.search).search));
    void queries.prefetchQuery(overviewOfAccountQuery);
  },
  component: lazyRouteComponent(() => loadPart(() => import("../workflows/list-page.tsx")), "WorkflowsPage"),
});

/** One workflow, whose tabs are the routes below it. `../workflows/tabs.ts` names them in their order. */
const workflow = createRoute({
  getParentRoute: () => signedIn,
  path: "/workflows/$workflowId",
  loader({ cause, params }) {
    if (cause === "enter") void queries.prefetchQuery(workflowQuery(params.workflowId));
  },
  component: lazyRouteComponent(() => loadPart(() => import("../workflows/frame.tsx")), "WorkflowFrame"),
});

const workflowStart = createRoute({
  getParentRoute: () => workflow,
  path: "/",
  beforeLoad({ params }) {
    redirect({ to: "/workflows/$workflowId/overview", params, replace: true, throw: true });
  },
});

const readRunSearch = cleanSearch("rerun", "draft");

const run = createRoute({
  getParentRoute: () => workflow,
  path: "/run",
  validateSearch: readRunSearch,
  loader({ cause, location, params }) {
    if (cause !== "enter") return;
    const { rerun } = readRunSearch(location.search);
    if (rerun !== undefined) void queries.prefetchQuery(executionQuery(rerun));
    void queries.prefetchInfiniteQuery(executionsQuery({ workflow: params.workflowId }));
  },
  component: lazyRouteComponent(() => loadPart(() => import("../run/run-tab.tsx")), "RunTab"),
});

const overview = createRoute({
  getParentRoute: () => workflow,
  path: "/overview",
  loader({ cause, params }) {
    if (cause === "enter") void queries.prefetchQuery(overviewQuery(params.workflowId));
  },
  component: lazyRouteComponent(() => loadPart(() => import("../overview/overview-tab.tsx")), "OverviewTab"),
});

const code = createRoute({
  getParentRoute: () => workflow,
  path: "/code",
  validateSearch: cleanSearch("file", "line", "commit"),
  component: lazyRouteComponent(() => loadPart(() => import("../code/code-tab.tsx")), "CodeTab"),
});

const apiTrigger = createRoute({
  getParentRoute: () => workflow,
  path: "/api",
  component: lazyRouteComponent(() => loadPart(() => import("../api-trigger/api-tab.tsx")), "ApiTab"),
});

const schedule = createRoute({
  getParentRoute: () => workflow,
  path: "/schedule",
  validateSearch: cleanSearch("schedule"),
  component: lazyRouteComponent(() => loadPart(() => import("../schedule/schedule-tab.tsx")), "ScheduleTab"),
});

const commits = createRoute({
  getParentRoute: () => workflow,
  path: "/commits",
  validateSearch: cleanSearch("from", "to"),
  loader({ cause, params }) {
    if (cause === "enter") void queries.prefetchInfiniteQuery(commitsQuery(params.workflowId));
  },
  component: lazyRouteComponent(() => loadPart(() => import("../commits/commits-tab.tsx")), "CommitsTab"),
});

const settings = createRoute({
  getParentRoute: () => workflow,
  path: "/settings",
  component: lazyRouteComponent(() => loadPart(() => import("../settings/settings-tab.tsx")), "SettingsTab"),
});

const EXECUTION_FILTERS = ["state", "trigger", "commit", "from", "to", "text"] as const;
const readFiltersOfOne = cleanSearch(...EXECUTION_FILTERS);
const readFilters = cleanSearch("workflow", ...EXECUTION_FILTERS);

const workflowExecutions = createRoute({
  getParentRoute: () => workflow,
  path: "/runs",
  validateSearch: readFiltersOfOne,
  loader({ cause, location, params }) {
    const filters = { ...readFiltersOfOne(location.search), workflow: params.workflowId };
    if (cause === "enter") void queries.prefetchInfiniteQuery(executionsQuery(filters));
  },
  component: lazyRouteComponent(() => loadPart(() => import("../executions/executions-tab.tsx")), "ExecutionsTab"),
});

const executions = createRoute({
  getParentRoute: () => signedIn,
  path: "/executions",
  validateSearch: readFilters,
  loader({ cause, location }) {
    if (cause === "enter") void queries.prefetchInfiniteQuery(executionsQuery(readFilters(location.search)));
  },
  component: lazyRouteComponent(() => loadPart(() => import("../executions/list-page.tsx")), "ExecutionsPage"),
});

const execution = createRoute({
  getParentRoute: () => signedIn,
  path: "/executions/$executionId",
  loader({ cause, params }) {
    if (cause === "enter") void queries.prefetchQuery(executionQuery(params.executionId));
  },
  component: lazyRouteComponent(() => loadPart(() => import("../execution/execution-page.tsx")), "ExecutionPage"),
});

const account = createRoute({
  getParentRoute: () => signedIn,
  path: "/account",
  component: lazyRouteComponent(() => loadPart(() => import("../account/frame.tsx")), "AccountFrame"),
});

const accountStart = createRoute({
  getParentRoute: () => account,
  path: "/",
  loader({ cause }) {
    if (cause !== "enter") return;
    void queries.prefetchQuery(accountQuery);
    void queries.prefetchInfiniteQuery(ledgerQuery);
  },
  component: lazyRouteComponent(() => loadPart(() => import("../account/credits-tab.tsx")), "CreditsTab"),
});

const members = createRoute({
  getParentRoute: () => account,
  path: "/members",
  component: lazyRouteComponent(() => loadPart(() => import("../account/members-tab.tsx")), "MembersTab"),
});

const values = createRoute({
  getParentRoute: () => account,
  path: "/secrets",
  component: lazyRouteComponent(() => loadPart(() => import("../values/values-tab.tsx")), "ValuesTab"),
});

const notices = createRoute({
  getParentRoute: () => account,
  path: "/notices",
  component: lazyRouteComponent(() => loadPart(() => import("../notices/notices-tab.tsx")), "NoticesTab"),
});

const tokens = createRoute({
  getParentRoute: () => account,
  path: "/tokens",
  component: lazyRouteComponent(() => loadPart(() => import("../account/tokens-tab.tsx")), "TokensTab"),
});

const security = createRoute({
  getParentRoute: () => account,
  path: "/security",
  component: lazyRouteComponent(() => loadPart(() => import("../account/security-tab.tsx")), "SecurityTab"),
});

const hosts = createRoute({
  getParentRoute: () => account,
  path: "/hosts",
  component: lazyRouteComponent(() => loadPart(() => import("../hosts/hosts-tab.tsx")), "HostsTab"),
});

/** Every other address: within the bar, so that one is not lost there. */
const lost = createRoute({ getParentRoute: () => signedIn, path: "$", component: LostPage });

/**
 * Every page of the editor. `src/http/web/pages.ts` knows the first part of each address. `web/pages.json` lists the
 * scripts of each page. The service names them in the page, so that the browser loads all of them at once.
 */
export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    join,
    device,
    signedIn.addChildren([
      workflows,
      workflow.addChildren([
        workflowStart,
        run,
        overview,
        code,
        apiTrigger,
        schedule,
        commits,
        workflowExecutions,
        settings,
      ]),
      executions,
      execution,
      account.addChildren([accountStart, members, values, notices, tokens, security, hosts]),
      lost,
    ]),
  ]),
  // All values are texts: what an address says is what a filter gets.
  parseSearch: (query) => Object.fromEntries(new URLSearchParams(query)),
  stringifySearch: (values) => toQuery(values as Record<string, string | undefined>),
  defaultPreload: "intent",
  // Pointing at a link fetched the page's part alone: its loader must still run when the page is opened.
  defaultPreloadStaleTime: 0,
  defaultErrorComponent: ({ error, reset }) => <ErrorState error={error} onRetry={reset} />,
  // A log goes to the line that the address names, and not back to where it was.
  scrollRestoration: ({ location }) => readLogLine(location.hash) === 0,
});

whenSignedOut(() => {
  const { href, pathname } = router.state.location;
  if (pathname === "/sign-in" || pathname === "/join") return;
  queries.clear();
  void router.navigate({ to: "/sign-in", search: { from: href, ended: "1" } });
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
