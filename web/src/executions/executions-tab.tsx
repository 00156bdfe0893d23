import { getRouteApi } from "@tanstack/react-router";
import { ExecutionList } from "./execution-list.tsx";

const route = getRouteApi("/signed-in/workflows/$workflowId/runs");

/** What one workflow has run. */
export function ExecutionsTab() {
  const { workflowId } = route.useParams();
  const filters = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <ExecutionList
      filters={filters}
      workflowId={workflowId}
      onFilter={(search) => void navigate({ search, replace: true })}
    />
  );
}
