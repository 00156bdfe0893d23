import { Button, Group, Text } from "@mantine/core";
import type { Question } from "./confirm.ts";
import { Dialog } from "./dialog.tsx";

/** Asks a question, and does what it is about when the answer is yes. */
export function ConfirmDialog({ question, onClose }: { question: Question; onClose: () => void }) {
  const { title, text, yes, act } = question;
  return (
    <Dialog onClose={onClose} title={title}>
      <Text>{text}</Text>
      <Group justify="flex-end" gap="xs" mt="lg">
        <Button variant="default" onClick={onClose} data-autofocus>
          Cancel
        </Button>
        <Button
          color="red"
          onClick={() => {
            onClose();
            act();
          }}
        >
          {yes}
        </Button>
      </Group>
    </Dialog>
  );
}
