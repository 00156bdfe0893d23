import { ActionIcon, Menu, Text, useMantineColorScheme } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { MoonIcon, ScreenIcon, SunIcon, UserIcon } from "./icons.tsx";
import { signOut, useSession } from "./session.ts";

/** What a menu takes over from the button that stood in its place. */
export interface BarMenuProps {
  readonly opened: boolean;
  readonly onChange: (opened: boolean) => void;
  readonly autoFocus: boolean;
  /** The name of its button. */
  readonly label: string;
}

const CHOICES = [
  { value: "light", label: "Light", icon: <SunIcon /> },
  { value: "dark", label: "Dark", icon: <MoonIcon /> },
  { value: "auto", label: "As the system", icon: <ScreenIcon /> },
] as const;

/** Light, dark, or as the system. */
export function ColourMenu(props: BarMenuProps) {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const current = CHOICES.find(({ value }) => value === colorScheme) ?? CHOICES[2];
  return (
    <BarMenu {...props} icon={current.icon}>
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
    </BarMenu>
  );
}

/** Who is signed in, their sessions, documents, and signing out. */
export function UserMenu(props: BarMenuProps) {
  const session = useSession();
  return (
    <BarMenu {...props} icon={<UserIcon />}>
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
      <Menu.Divider />
      <Menu.Item onClick={() => void signOut()}>Sign out</Menu.Item>
    </BarMenu>
  );
}

function BarMenu(props: BarMenuProps & { readonly icon: ReactNode; readonly children: ReactNode }) {
  const { opened, onChange, autoFocus, label, icon, children } = props;
  return (
    <Menu opened={opened} onChange={onChange}>
      <Menu.Target>
        <ActionIcon size={30} aria-label={label} autoFocus={autoFocus}>
          {icon}
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}
