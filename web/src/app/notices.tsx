import "@mantine/notifications/styles.css";
import { Notifications } from "@mantine/notifications";

/** Shows short messages. Those from before it was mounted are shown as soon as it is. */
export function Notices() {
  return <Notifications position="bottom-right" />;
}
