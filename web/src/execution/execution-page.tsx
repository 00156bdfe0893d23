import { Title } from "@mantine/core";
import { useTitle } from "../app/title.ts";

/** One execution. */
export function ExecutionPage() {
  useTitle("Run");
  return <Title order={2}>Run</Title>;
}
