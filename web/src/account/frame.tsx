import { Title } from "@mantine/core";
import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { useSession } from "../app/session.ts";
import { TabLinks } from "../app/tab-links.tsx";
import { useTitle } from "../app/title.ts";
import classes from "../workflows/frame.module.css";

/** The tabs of the account, in their order, and what each is for. */
const TABS = [
  { to: "/account", label: "Credits", purpose: "Credits that are available, reserved and spent." },
  { to: "/account/members", label: "Members", purpose: "Who sees this account, and who may change it." },
  { to: "/account/secrets", label: "Secrets and variables", purpose: "Values that programs get when they run." },
  { to: "/account/notices", label: "Notices", purpose: "Where messages go when runs fail or are missed." },
  { to: "/account/tokens", label: "Tokens", purpose: "Passwords for the command line and for programs." },
  { to: "/account/security", label: "Security", purpose: "Your password, and where you are signed in." },
] as const;
/** For those who may look at the installation. */
const HOSTS = {
  to: "/account/hosts",
  label: "Hosts",
  purpose: "The processes of this installation, what they offer, and how busy they are.",
} as const;

/** What the tabs of the account have around them. */
export function AccountFrame() {
  const { accountName, seesHosts } = useSession();
  const tabs = seesHosts ? [...TABS, HOSTS] : TABS;
  useTitle("Account");
  const pathname = useLocation({ select: (location) => location.pathname });
  const tab = tabs.find(({ to }) => to === pathname);
  return (
    <>
      <header className={classes.head}>
        <Title order={1} className={classes.name}>
          {accountName}
        </Title>
      </header>
      <TabLinks label="Parts of the account" purpose={tab?.purpose ?? ""}>
        {tabs.map(({ to, label }) => (
          <Link key={to} to={to} activeOptions={{ exact: true }}>
            {label}
          </Link>
        ))}
      </TabLinks>
      <Outlet />
    </>
  );
}
