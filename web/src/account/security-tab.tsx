import { Title } from "@mantine/core";
import { useTitle } from "../app/title.ts";

/** Password and sessions. */
export function SecurityTab() {
  useTitle("Security");
  return <Title order={2}>Security</Title>;
}
