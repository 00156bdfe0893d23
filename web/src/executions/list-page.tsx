import { Group, NativeSelect, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Purpose } from "../app/purpose.tsx";
import { useTitle } from "../app/title.ts";
import { workflowsQuery } from "../workflows/workflows.ts";
import { ExecutionList } from "./execution-list.tsx";

const route = getRouteApi("/signed-in/executions");

/** Everything the account has run. */
export function ExecutionsPage() {
  useTitle("Runs");
  const filters = route.useSearch();
  const navigate = route.useNavigate();
  const { data: workflows = [] } = useQuery(workflowsQuery());
  // A commit is of the workflow that was chosen.
  const { workflow = "", commit: _, ...others } = filters;
  const choices = workflows.map(({ workflowId, name }) => ({ value: workflowId, label: name }));
  return (
    <>
      <Group justify="space-between" mb="md">
        <div>
          <Title order={1}>Runs</Title>
          <Purpose>Every run of this account, the newest first.</Purpose>
        </div>
        <NativeSelect
          size="xs"
          aria-label="Workflow"
          maw="18rem"
          data={[{ value: "", label: "All workflows" }, ...choices]}
          value={workflow}
          onChange={(event) => {
            const chosen = event.currentTarget.value;
            void navigate({ search: chosen === "" ? others : { ...others, workflow: chosen } });
          }}
        />
      </Group>
      <ExecutionList filters={filters} onFilter={(search) => void navigate({ search, replace: true })} />
    </>
  );
}
