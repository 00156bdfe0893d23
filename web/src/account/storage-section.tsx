import { Progress, Text, Title } from "@mantine/core";
import { formatBytes, formatSize } from "../../../domain/manifest/sizes.ts";
import type { Account } from "./account.ts";
import classes from "./storage-section.module.css";

/** From here on it is worth attention. */
const NEARLY_FULL_PERCENT = 90;
const FULL_PERCENT = 100;

/** What of its storage the account uses. */
export function StorageSection({ storage, contact }: Pick<Account, "storage" | "contact">) {
  const { bytes, bytesMax } = storage;
  const percent = bytesMax === null ? 0 : Math.min(FULL_PERCENT, Math.floor((bytes / bytesMax) * FULL_PERCENT));
  const words =
    bytesMax === null ? `${formatBytes(bytes)} used` : `${formatBytes(bytes)} of ${formatSize(bytesMax)} used`;
  return (
    <section aria-label="Storage">
      <Title order={2} mb="xs">
        Storage
      </Title>
      <div className={classes.box}>
        <div className={classes.words}>
          <span className={classes.used}>{words}</span>
          <Text span size="sm" c="dimmed">
            {bytesMax === null ? "No limit" : "Files and logs of runs, commits, drafts"}
          </Text>
        </div>
        {bytesMax !== null && (
          <Progress.Root size="md">
            <Progress.Section
              value={percent}
              {...(percent >= NEARLY_FULL_PERCENT ? { color: "red" } : {})}
              aria-label="Storage used"
              aria-valuetext={words}
            />
          </Progress.Root>
        )}
        {percent >= FULL_PERCENT && (
          <Text size="sm" role="status">
            The storage is full. No run starts and nothing can be committed until old files are removed.
            {contact !== null && ` For more storage, ask ${contact}.`}
          </Text>
        )}
      </div>
    </section>
  );
}
