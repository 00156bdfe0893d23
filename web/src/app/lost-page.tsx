import { ButtonLink } from "./button-link.tsx";
import { EmptyState } from "./states.tsx";
import { useTitle } from "./title.ts";

/** For addresses that no page has. */
export function LostPage() {
  useTitle("There is no such page");
  return (
    <EmptyState
      level={1}
      title="There is no such page"
      action={
        <ButtonLink to="/" variant="default">
          To the workflows
        </ButtonLink>
      }
    >
      The address may be mistyped, or what it led to was deleted.
    </EmptyState>
  );
}
