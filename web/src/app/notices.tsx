import "@mantine/notifications/styles.css";
import { Notifications } from "@mantine/notifications";

/** Where short news are shown. What is told before it is there is shown as soon as it is. */
export function Notices() {
  return <Notifications position="bottom-right" />;
}
