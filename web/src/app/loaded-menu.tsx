import { ActionIcon, Menu } from "@mantine/core";
import type { ReactNode } from "react";
import type { LoadedMenuProps } from "./menu-button.tsx";

/** The menu of a `MenuButton`, with its button. */
export function LoadedMenu(props: LoadedMenuProps & { readonly loading?: boolean; readonly children: ReactNode }) {
  const { opened, onChange, label, icon, children, ...look } = props;
  return (
    <Menu opened={opened} onChange={onChange}>
      <Menu.Target>
        <ActionIcon aria-label={label} {...look}>
          {icon}
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}
