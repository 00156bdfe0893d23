import { Menu } from "@mantine/core";
import { useAct } from "../app/acting.ts";
import { confirm } from "../app/confirm.ts";
import { LoadedMenu } from "../app/loaded-menu.tsx";
import type { LoadedMenuProps } from "../app/menu-button.tsx";
import { type Asked, type Place, pathOf } from "./notices.ts";

/** What owners change about a place. */
export function OwnersMenu({
  place,
  onAsk,
  ...menu
}: LoadedMenuProps & { readonly place: Place; readonly onAsk: (asked: Asked) => void }) {
  const { name, kind } = place;
  const remove = useAct({ stale: ["notices"], refused: `${name} was not removed` });
  const askToRemove = (): void =>
    confirm({
      title: `Remove ${name}?`,
      text: "What was sent there leaves the list, too.",
      yes: "Remove",
      act: () => remove.mutate({ path: pathOf(name), method: "DELETE" }),
    });
  return (
    <LoadedMenu {...menu}>
      <Menu.Item onClick={() => onAsk({ what: "target", place })}>New target</Menu.Item>
      {kind === "webhook" && <Menu.Item onClick={() => onAsk({ what: "secret", place })}>New secret</Menu.Item>}
      <Menu.Item onClick={askToRemove}>Remove</Menu.Item>
    </LoadedMenu>
  );
}
