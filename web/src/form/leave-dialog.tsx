import { Button, Group, Text } from "@mantine/core";
import { Dialog } from "../app/dialog.tsx";

/** Asks before the page is left while files are on their way. */
export function LeaveDialog({ onStay, onLeave }: { onStay: () => void; onLeave: () => void }) {
  return (
    <Dialog onClose={onStay} title="Files are still uploading">
      <Text mb="lg">If you leave now, the run will not start.</Text>
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onStay} data-autofocus>
          Stay here
        </Button>
        <Button color="red" onClick={onLeave}>
          Leave
        </Button>
      </Group>
    </Dialog>
  );
}
