import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { EmptyState } from "./states.tsx";

/** For addresses that no page has. */
export function LostPage() {
  return (
    <main>
      <EmptyState
        title="There is no such page"
        action={
          <Button component={Link} to="/" variant="default">
            To the workflows
          </Button>
        }
      >
        The address may be mistyped, or what it led to was deleted.
      </EmptyState>
    </main>
  );
}
