import { ActionIcon, Menu } from "@mantine/core";
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { LoadedMenuProps } from "./menu-button.tsx";

/** The menu of a `MenuButton`, with its button. */
export function LoadedMenu(props: LoadedMenuProps & { readonly loading?: boolean; readonly children: ReactNode }) {
  const { opened, onChange, label, icon, children, takesFocus, ...look } = props;
  const button = useRef<HTMLButtonElement>(null);
  const [takes] = useState(takesFocus);
  useEffect(() => {
    if (takes) button.current?.focus();
  }, [takes]);
  return (
    <Menu opened={opened} onChange={onChange}>
      <Menu.Target>
        <ActionIcon ref={button} aria-label={label} {...look}>
          {icon}
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}
