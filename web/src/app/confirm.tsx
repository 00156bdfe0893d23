import { Text } from "@mantine/core";
import { modals } from "@mantine/modals";

/** Asks before something that cannot be taken back; `act` is called when somebody says yes. */
export function confirm(question: { title: string; text: string; yes: string; act: () => void }): void {
  modals.openConfirmModal({
    title: question.title,
    children: <Text>{question.text}</Text>,
    labels: { confirm: question.yes, cancel: "Cancel" },
    confirmProps: { color: "red" },
    onConfirm: question.act,
  });
}
