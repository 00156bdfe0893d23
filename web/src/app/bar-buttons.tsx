import { useMantineColorScheme } from "@mantine/core";
import { lazy, useMemo } from "react";
import { MoonIcon, ScreenIcon, SunIcon, UserIcon } from "./icons.tsx";
import { loadPart } from "./load-part.ts";
import { type LoadedMenuProps, MenuButton } from "./menu-button.tsx";
import { useSession } from "./session.ts";

const loadMenus = () => loadPart(() => import("./bar-menus.tsx"));
const ColourMenu = lazy(() => loadMenus().then((loaded) => ({ default: loaded.ColourMenu })));
const UserMenu = lazy(() => loadMenus().then((loaded) => ({ default: loaded.UserMenu })));

const SCHEMES = {
  light: { name: "Light", icon: <SunIcon /> },
  dark: { name: "Dark", icon: <MoonIcon /> },
  auto: { name: "As the system", icon: <ScreenIcon /> },
};

/** The buttons at the end of the bar: the colours, and who is signed in. `onKeys` shows the keyboard shortcuts, and stays the same function. */
export function BarButtons({ onKeys }: { readonly onKeys: () => void }) {
  const { colorScheme } = useMantineColorScheme();
  const session = useSession();
  const OwnMenu = useMemo(() => (props: LoadedMenuProps) => <UserMenu {...props} onKeys={onKeys} />, [onKeys]);
  const { name, icon } = SCHEMES[colorScheme];
  return (
    <>
      <MenuButton size={30} label={`Colours: ${name}`} icon={icon} LoadedMenu={ColourMenu} />
      <MenuButton size={30} label={`Signed in as ${session.email}`} icon={<UserIcon />} LoadedMenu={OwnMenu} />
    </>
  );
}
