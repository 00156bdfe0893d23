import { Paper, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { Mark } from "../app/mark.tsx";
import { useTitle } from "../app/title.ts";
import classes from "./card.module.css";

/** The page before the sign-in: one card in its middle, and perhaps some words below it. */
export function SignInCard({ title, below, children }: { title: string; below?: string; children: ReactNode }) {
  useTitle(title);
  return (
    <main className={classes.page}>
      <div className={classes.column}>
        <div className={classes.brand}>
          <Mark size={28} />
          <span>Treadle</span>
        </div>
        <Paper p="lg" className={classes.card}>
          <Stack gap="md">
            <Title order={1}>{title}</Title>
            {children}
          </Stack>
        </Paper>
        {below !== undefined && (
          <Text size="sm" c="dimmed" ta="center" mt="md">
            {below}
          </Text>
        )}
      </div>
    </main>
  );
}
