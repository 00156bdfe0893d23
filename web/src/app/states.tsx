import { Button, Skeleton, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { messageOf } from "../../../domain/message-of.ts";
import { ApiError } from "./api-error.ts";
import { ButtonLink } from "./button-link.tsx";
import { AlertIcon, RepeatIcon } from "./icons.tsx";
import classes from "./states.module.css";

/** Where there is nothing yet: says what will be here, and how to make the first one. */
export function EmptyState(props: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
  /** Of its heading: 1 where it is all there is on the page. */
  readonly level?: 1 | 2;
}) {
  const { title, children, action, level = 2 } = props;
  return (
    <div className={classes.state}>
      <Title order={level} size="h2">
        {title}
      </Title>
      {children !== undefined && <Text c="dimmed">{children}</Text>}
      {action}
    </div>
  );
}

/** Where something could not be had: what the service said, and the way to try again, or on where that would not help. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const known = error instanceof ApiError ? error : undefined;
  return (
    <div className={classes.state} role="alert">
      <span className={classes.alert}>
        <AlertIcon size={22} />
      </span>
      <Title order={2}>{known === undefined ? "This did not work" : titleOf(known)}</Title>
      <Text c="dimmed">{messageOf(error)}</Text>
      {known?.status === 404 && (
        <ButtonLink to="/" variant="default">
          To the workflows
        </ButtonLink>
      )}
      {onRetry !== undefined && known?.status !== 404 && (
        <Button variant="default" leftSection={<RepeatIcon />} onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

function titleOf(error: ApiError): string {
  if (error.status === 404) return "There is nothing here";
  if (error.status === 403) return "This is not yours to change";
  return error.error;
}

/** While rows are on their way: their places, so that nothing jumps when they come. */
export function LoadingRows({ count = 6, height = 40, label }: { count?: number; height?: number; label: string }) {
  return (
    <Stack gap="xs" role="status" aria-label={label}>
      {Array.from({ length: count }, (_, index) => (
        <Skeleton key={index} height={height} radius="sm" />
      ))}
    </Stack>
  );
}
