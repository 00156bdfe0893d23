import { Title } from "@mantine/core";
import { useTitle } from "../app/title.ts";

/** Who belongs to the account. */
export function MembersTab() {
  useTitle("Members");
  return <Title order={2}>Members</Title>;
}
