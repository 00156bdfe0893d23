import { ActionIcon, useMantineColorScheme } from "@mantine/core";
import { type ComponentType, lazy, type ReactNode, useState, useTransition } from "react";
import type { BarMenuProps } from "./bar-menus.tsx";
import { MoonIcon, ScreenIcon, SunIcon, UserIcon } from "./icons.tsx";
import { loadPart } from "./load-part.ts";
import { useSession } from "./session.ts";

const loadMenus = () => loadPart(() => import("./bar-menus.tsx"));
const ColourMenu = lazy(() => loadMenus().then((loaded) => ({ default: loaded.ColourMenu })));
const UserMenu = lazy(() => loadMenus().then((loaded) => ({ default: loaded.UserMenu })));

const SCHEMES = {
  light: { name: "Light", icon: <SunIcon /> },
  dark: { name: "Dark", icon: <MoonIcon /> },
  auto: { name: "As the system", icon: <ScreenIcon /> },
};

/** The buttons at the end of the bar: the colours, and who is signed in. */
export function BarButtons() {
  const { colorScheme } = useMantineColorScheme();
  const session = useSession();
  const { name, icon } = SCHEMES[colorScheme];
  return (
    <>
      <BarButton label={`Colours: ${name}`} icon={icon} LoadedMenu={ColourMenu} />
      <BarButton label={`Signed in as ${session.email}`} icon={<UserIcon />} LoadedMenu={UserMenu} />
    </>
  );
}

/**
 * A button whose menu is fetched when somebody comes near it: menus are an eighth of what the first page would be. The menu
 * takes the button's place, its focus, and a click that came before it.
 */
function BarButton(props: {
  readonly label: string;
  readonly icon: ReactNode;
  readonly LoadedMenu: ComponentType<BarMenuProps>;
}) {
  const { label, icon, LoadedMenu } = props;
  const [near, setNear] = useState(false);
  const [opened, setOpened] = useState(false);
  const [focused, setFocused] = useState(false);
  const [, startTransition] = useTransition();
  const approach = (): void => startTransition(() => setNear(true));
  if (near) return <LoadedMenu label={label} opened={opened} onChange={setOpened} autoFocus={focused} />;
  return (
    <ActionIcon
      size={30}
      aria-label={label}
      aria-haspopup="menu"
      aria-expanded={false}
      onPointerEnter={approach}
      onFocus={() => {
        setFocused(true);
        approach();
      }}
      onBlur={() => setFocused(false)}
      onClick={() => {
        setOpened(true);
        approach();
      }}
    >
      {icon}
    </ActionIcon>
  );
}
