import { Button, Group, Modal, Text } from "@mantine/core";
import { useBlocker } from "@tanstack/react-router";
import type { RefObject } from "react";

/** Asks before the page is left while files are on their way: that would end it. */
export function LeaveGuard({ isBusy }: { isBusy: RefObject<boolean> }) {
  const blocker = useBlocker({
    shouldBlockFn: () => isBusy.current,
    enableBeforeUnload: () => isBusy.current,
    withResolver: true,
  });
  return (
    <Modal opened={blocker.status === "blocked"} onClose={() => blocker.reset?.()} title="Files are still uploading">
      <Text mb="lg">If you leave now, the run will not start.</Text>
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={() => blocker.reset?.()} data-autofocus>
          Stay here
        </Button>
        <Button color="red" onClick={() => blocker.proceed?.()}>
          Leave
        </Button>
      </Group>
    </Modal>
  );
}
