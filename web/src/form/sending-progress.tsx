import { Button, Group, Progress, Text } from "@mantine/core";
import { formatBytes } from "../../../domain/manifest/sizes.ts";
import type { Sent } from "./sending.ts";

/** How much of the files has been sent, while they are. */
export function SendingProgress({ sent, onCancel }: { sent: Sent; onCancel: () => void }) {
  const percent = Math.min(100, (sent.bytes / sent.total) * 100);
  const words = `${formatBytes(sent.bytes)} of ${formatBytes(sent.total)} sent`;
  return (
    <Group mt="lg" gap="sm" wrap="nowrap">
      <Progress.Root flex={1} size="md">
        <Progress.Section value={percent} aria-label="Files sent" aria-valuetext={words} />
      </Progress.Root>
      <Text size="sm" className="number">
        {words}
      </Text>
      <Button variant="default" onClick={onCancel}>
        Cancel
      </Button>
    </Group>
  );
}
