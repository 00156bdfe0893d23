import { Title } from "@mantine/core";
import { useTitle } from "../app/title.ts";

/** Running the latest commit by form. */
export function RunTab() {
  useTitle("Run");
  return <Title order={2}>Run</Title>;
}
