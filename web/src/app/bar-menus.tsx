import { Menu, Text, useMantineColorScheme } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { MoonIcon, ScreenIcon, SunIcon } from "./icons.tsx";
import { LoadedMenu } from "./loaded-menu.tsx";
import type { LoadedMenuProps } from "./menu-button.tsx";
import { signOut, useSession } from "./session.ts";

const CHOICES = [
  { value: "light", label: "Light", icon: <SunIcon /> },
  { value: "dark", label: "Dark", icon: <MoonIcon /> },
  { value: "auto", label: "As the system", icon: <ScreenIcon /> },
] as const;

/** Light, dark, or as the system. */
export function ColourMenu(props: LoadedMenuProps) {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <LoadedMenu {...props}>
      {CHOICES.map(({ value, label, icon }) => (
        <Menu.Item
          key={value}
          leftSection={icon}
          aria-current={value === colorScheme}
          onClick={() => setColorScheme(value)}
        >
          {label}
        </Menu.Item>
      ))}
    </LoadedMenu>
  );
}

/** Who is signed in, their sessions, documents, and signing out. */
export function UserMenu({ onKeys, ...props }: LoadedMenuProps & { readonly onKeys: () => void }) {
  const session = useSession();
  return (
    <LoadedMenu {...props}>
      <Menu.Label>
        <Text size="sm" c="var(--mantine-color-text)">
          {session.email}
        </Text>
        <Text size="xs">
          {session.role} of {session.accountName}
        </Text>
      </Menu.Label>
      <Menu.Divider />
      <Menu.Item component={Link} to="/account/security">
        Password and sessions
      </Menu.Item>
      <Menu.Item component="a" href="/docs/" target="_blank" rel="noreferrer">
        Documentation
      </Menu.Item>
      <Menu.Item component="a" href="/api/docs" target="_blank" rel="noreferrer">
        API documentation
      </Menu.Item>
      <Menu.Item onClick={onKeys} rightSection={<kbd>?</kbd>}>
        Keyboard shortcuts
      </Menu.Item>
      <Menu.Divider />
      <Menu.Item onClick={() => void signOut()}>Sign out</Menu.Item>
    </LoadedMenu>
  );
}
