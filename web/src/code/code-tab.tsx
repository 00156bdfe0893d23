import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import { CodeDesk } from "./code-desk.tsx";
import { CommittedCode } from "./committed-code.tsx";
import { draftQuery } from "./drafts.ts";

const route = getRouteApi("/signed-in/workflows/$workflowId/code");

/** The workflow's files, to be written: each person has a draft of their own. With a commit in the address, its files as they are. */
export function CodeTab() {
  const { workflowId } = route.useParams();
  const { commit } = route.useSearch();
  return commit === undefined ? (
    <DraftCode workflowId={workflowId} />
  ) : (
    <CommittedCode key={commit} workflowId={workflowId} commitId={commit} />
  );
}

function DraftCode({ workflowId }: { workflowId: string }) {
  const draft = useQuery(draftQuery(workflowId));
  if (draft.isLoadingError) return <ErrorState error={draft.error} onRetry={() => void draft.refetch()} />;
  if (draft.isPending) return <LoadingRows count={10} height={28} label="The files are loading" />;
  return <CodeDesk key={workflowId} workflowId={workflowId} saving={draft.data} />;
}
