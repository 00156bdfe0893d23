import { ActionIcon } from "@mantine/core";
import { type ComponentType, type ReactNode, useState, useTransition } from "react";

/** What stands in the bar, or beside a thing, and opens a menu. */
interface MenuButtonLook {
  readonly label: string;
  readonly icon: ReactNode;
  readonly size?: number;
  readonly title?: string;
}

/** What a menu takes over from the button that stood in its place. */
export interface LoadedMenuProps extends MenuButtonLook {
  readonly opened: boolean;
  readonly onChange: (opened: boolean) => void;
  readonly takesFocus: boolean;
}

/**
 * A button whose menu is fetched when a pointer or the focus comes near. Menus, and what places them, are an eighth of what
 * the first page would be. The menu takes the button's place, its focus, and a click that came before it.
 */
export function MenuButton({
  LoadedMenu,
  ...look
}: MenuButtonLook & { readonly LoadedMenu: ComponentType<LoadedMenuProps> }) {
  const [near, setNear] = useState(false);
  const [opened, setOpened] = useState(false);
  const [focused, setFocused] = useState(false);
  const [pressed, setPressed] = useState(false);
  const [, startTransition] = useTransition();
  const approach = (): void => startTransition(() => setNear(true));
  // A click that begins on one button and ends on another is none.
  if (near && !pressed) return <LoadedMenu {...look} opened={opened} onChange={setOpened} takesFocus={focused} />;
  const { label, icon, ...others } = look;
  return (
    <ActionIcon
      {...others}
      aria-label={label}
      aria-haspopup="menu"
      aria-expanded={false}
      onPointerEnter={approach}
      onPointerDown={() => setPressed(true)}
      onPointerLeave={() => setPressed(false)}
      onPointerCancel={() => setPressed(false)}
      onFocus={() => {
        setFocused(true);
        approach();
      }}
      onBlur={() => setFocused(false)}
      onClick={() => {
        setPressed(false);
        setOpened(true);
        approach();
      }}
    >
      {icon}
    </ActionIcon>
  );
}
