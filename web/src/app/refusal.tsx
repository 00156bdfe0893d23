import { Alert } from "@mantine/core";
import { AlertIcon } from "./icons.tsx";

/** What the service said no with, where the form is; nothing while there is no error. */
export function Refusal({ error }: { error: Error | null }) {
  if (error === null) return null;
  return (
    <Alert color="red" variant="light" icon={<AlertIcon />} role="alert" p="xs">
      {error.message}
    </Alert>
  );
}
