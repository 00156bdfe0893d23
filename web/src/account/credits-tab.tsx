import { Title } from "@mantine/core";
import { useTitle } from "../app/title.ts";

/** Balance, ledger and spend. */
export function CreditsTab() {
  useTitle("Credits");
  return <Title order={2}>Credits</Title>;
}
