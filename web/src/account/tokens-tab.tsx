import { Title } from "@mantine/core";
import { useTitle } from "../app/title.ts";

/** Access tokens of the signed-in user. */
export function TokensTab() {
  useTitle("Tokens");
  return <Title order={2}>Tokens</Title>;
}
