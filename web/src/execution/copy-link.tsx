import { Menu } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import type { z } from "zod";
import type { Link } from "../../../domain/api/results.ts";
import { useAct } from "../app/acting.ts";
import { LoadedMenu } from "../app/loaded-menu.tsx";
import type { LoadedMenuProps } from "../app/menu-button.tsx";
import { toShort } from "../app/time-text.ts";

const PERIODS = [
  { seconds: 3_600, label: "1 hour" },
  { seconds: 86_400, label: "1 day" },
  { seconds: 7 * 86_400, label: "7 days" },
];

/** Makes an address of an output that opens it without signing in, for a time, and copies it. */
export function CopyLinkMenu({ path, fileName, ...menu }: LoadedMenuProps & { path: string; fileName: string }) {
  const make = useAct<z.infer<typeof Link>>({
    stale: ["links"],
    refused: "The link was not made",
    onDone: ({ url, expiresAt }) =>
      void offer(url, `Anyone with the link can open ${fileName} until ${toShort(new Date(expiresAt))}.`),
  });
  return (
    <LoadedMenu {...menu} loading={make.isPending}>
      <Menu.Label>Anyone with the link can open the file for</Menu.Label>
      {PERIODS.map(({ seconds, label }) => (
        <Menu.Item
          key={seconds}
          onClick={() => make.mutate({ path: `${path}/link`, method: "POST", body: { expiresInSeconds: seconds } })}
        >
          {label}
        </Menu.Item>
      ))}
    </LoadedMenu>
  );
}

/** Copies the link. Where the browser forbids that, the note shows it for copying by hand. */
async function offer(url: string, message: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(url);
    notifications.show({ color: "green", title: "Link copied", message });
  } catch {
    notifications.show({ title: "Copy this link", message: url, autoClose: false });
  }
}
