import { Button } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useEffect, useState } from "react";
import { messageOf } from "../../../domain/message-of.ts";
import { CheckIcon, CopyIcon } from "../app/icons.tsx";

const TOLD_MS = 2_000;

/** Copies a text that may have to be asked for first, and says so. */
export function CopyButton({ what, read }: { what: string; read: () => Promise<string> }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), TOLD_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(await read());
      setCopied(true);
    } catch (error) {
      const message = messageOf(error);
      notifications.show({ color: "red", title: `${what} not copied`, message });
    }
  };
  return (
    <Button
      variant="default"
      leftSection={copied ? <CheckIcon size={14} /> : <CopyIcon size={14} />}
      onClick={() => void copy()}
    >
      <span aria-live="polite">{copied ? `${what} copied` : "Copy"}</span>
    </Button>
  );
}
