import { Title } from "@mantine/core";
import { useTitle } from "../app/title.ts";

/** The executions of one workflow. */
export function ExecutionsTab() {
  useTitle("Runs");
  return <Title order={2}>Runs</Title>;
}
