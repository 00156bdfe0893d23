import {
  type ActionIconProps,
  type AlertProps,
  type BadgeProps,
  type ButtonProps,
  type CSSVariablesResolver,
  createTheme,
  type LoaderProps,
  type MantineColorsTuple,
  type MenuProps,
  type ModalProps,
  type NotificationProps,
  type PaperProps,
  type PasswordInputProps,
  type TooltipProps,
} from "@mantine/core";

/** Indigo: apart from the green, red, blue and amber that states have. */
const loom: MantineColorsTuple = [
  "#f1f1fd",
  "#e0e1fa",
  "#c1c3f5",
  "#a2a5ef",
  "#8a8de9",
  "#6e71dd",
  "#5457c9",
  "#474ab3",
  "#3c3f9c",
  "#323584",
];

const dark: MantineColorsTuple = [
  "#dcdde4",
  "#bdbfca",
  "#9b9eac",
  "#6f7282",
  "#353842",
  "#2b2e37",
  "#202229",
  "#16171c",
  "#111217",
  "#0b0c10",
];

/** As Mantine's, but white on the shades of buttons can be read. */
const red: MantineColorsTuple = [
  "#fff5f5",
  "#ffe3e3",
  "#ffc9c9",
  "#ffa8a8",
  "#ff8787",
  "#ff6b6b",
  "#d22b2b",
  "#bf2626",
  "#ab2121",
  "#961d1d",
];

const TONES: Readonly<Record<string, string>> = {
  red: "var(--state-failure)",
  yellow: "var(--state-warning)",
  gray: "var(--mantine-color-dimmed)",
};

/** Returns the colours of an alert: a trace of its tone on the page's own ground, in the dark as in the light. */
function alertColours(color: AlertProps["color"]) {
  const tone = TONES[color ?? ""] ?? "var(--mantine-color-anchor)";
  return {
    "--alert-color": tone,
    "--alert-bg": `color-mix(in srgb, ${tone} 12%, var(--surface))`,
    "--alert-bd": `1px solid color-mix(in srgb, ${tone} 35%, var(--surface))`,
  };
}

export const theme = createTheme({
  colors: { loom, dark, red },
  primaryColor: "loom",
  primaryShade: 6,
  defaultRadius: "sm",
  radius: { xs: "3px", sm: "6px", md: "8px", lg: "12px", xl: "20px" },
  fontFamily: '"Geist Variable", "Geist like Arial", "Geist like DejaVu", system-ui, sans-serif',
  fontFamilyMonospace: '"Geist Mono Variable", ui-monospace, Menlo, "DejaVu Sans Mono", monospace',
  headings: {
    fontWeight: "600",
    sizes: { h1: { fontSize: "1.375rem" }, h2: { fontSize: "1.0625rem" }, h3: { fontSize: "0.9375rem" } },
  },
  fontSizes: { xs: "0.75rem", sm: "0.8125rem", md: "0.875rem", lg: "1rem", xl: "1.125rem" },
  spacing: { xs: "0.5rem", sm: "0.75rem", md: "1rem", lg: "1.5rem", xl: "2rem" },
  cursorType: "pointer",
  respectReducedMotion: true,
  // By their types alone: what the first page does not show is not in its part.
  components: {
    Alert: { vars: (_: unknown, { color }: AlertProps) => ({ root: alertColours(color) }) },
    Badge: { defaultProps: { tt: "none", fw: 600 } satisfies Partial<BadgeProps> },
    Button: { defaultProps: { size: "xs", fw: 500 } satisfies Partial<ButtonProps> },
    ActionIcon: { defaultProps: { variant: "subtle", color: "gray" } satisfies Partial<ActionIconProps> },
    Loader: { defaultProps: { size: "sm", role: "status" } satisfies Partial<LoaderProps> },
    Menu: { defaultProps: { shadow: "md", position: "bottom-end" } satisfies Partial<MenuProps> },
    Modal: {
      defaultProps: {
        radius: "md",
        overlayProps: { backgroundOpacity: 0.4 },
        closeButtonProps: { "aria-label": "Close" },
      } satisfies Partial<ModalProps>,
    },
    Notification: {
      defaultProps: { closeButtonProps: { "aria-label": "Close" } } satisfies Partial<NotificationProps>,
    },
    Paper: { defaultProps: { withBorder: true, radius: "md" } satisfies Partial<PaperProps> },
    PasswordInput: {
      defaultProps: {
        // Who uses the keyboard may look at what they typed, too.
        visibilityToggleFocusable: true,
        visibilityToggleButtonProps: { "aria-label": "Show what is written" },
      } satisfies Partial<PasswordInputProps>,
    },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: false } satisfies Partial<TooltipProps> },
  },
});

/**
 * Colours of our own, and greys with enough contrast (WCAG 2.2, 1.4.3 and 1.4.11). That is 4.5 to 1 for text, and 3 to 1
 * for the edges of fields and boxes.
 */
export const colours: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-body": "#ffffff",
    "--mantine-color-text": "#1d1f27",
    "--mantine-color-dimmed": "#5d6270",
    "--mantine-color-placeholder": "#717684",
    "--mantine-color-error": "#c92a2a",
    "--page": "#f7f7f9",
    "--surface": "#ffffff",
    "--raised": "#f3f3f6",
    "--line": "#e3e4ea",
    "--edge": "#8c909c",
    "--state-success": "#1f7a33",
    "--state-failure": "#c92a2a",
    "--state-warning": "#a35200",
    "--state-active": "#1864ab",
    "--state-idle": "#6b7080",
    "--mark": "#ffe58a",
  },
  dark: {
    "--mantine-color-body": "#16171c",
    "--mantine-color-text": "#dcdde4",
    "--mantine-color-dimmed": "#9b9eac",
    "--mantine-color-placeholder": "#868997",
    "--mantine-color-error": "#ff8787",
    "--mantine-color-anchor": "#a2a5ef",
    "--page": "#111217",
    "--surface": "#191a20",
    "--raised": "#20222a",
    "--line": "#2c2e37",
    "--edge": "#6f7282",
    "--state-success": "#69db7c",
    "--state-failure": "#ff8787",
    "--state-warning": "#ffb866",
    "--state-active": "#74c0fc",
    "--state-idle": "#9b9eac",
    "--mark": "#6b5a00",
  },
});
