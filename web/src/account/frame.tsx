import { Title } from "@mantine/core";
import { Link, Outlet } from "@tanstack/react-router";
import { useSession } from "../app/session.ts";
import { TabLinks } from "../app/tab-links.tsx";
import { useTitle } from "../app/title.ts";

/** What the tabs of the account have around them. */
export function AccountFrame() {
  const { accountName } = useSession();
  useTitle("Account");
  return (
    <>
      <Title order={1}>{accountName}</Title>
      <TabLinks label="Parts of the account">
        <Link to="/account" activeOptions={{ exact: true }}>
          Credits
        </Link>
        <Link to="/account/members">Members</Link>
        <Link to="/account/secrets">Secrets and variables</Link>
        <Link to="/account/notices">Notices</Link>
        <Link to="/account/tokens">Tokens</Link>
        <Link to="/account/security">Security</Link>
      </TabLinks>
      <Outlet />
    </>
  );
}
