import { Title } from "@mantine/core";
import { useTitle } from "../app/title.ts";

/** The executions of the account. */
export function ExecutionsPage() {
  useTitle("Runs");
  return <Title order={2}>Runs</Title>;
}
