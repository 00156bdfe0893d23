import { Paper, Stack, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { Mark } from "../app/mark.tsx";
import { useTitle } from "../app/title.ts";
import classes from "./card.module.css";

/** The page before the sign-in: one card in its middle. */
export function SignInCard({ title, children }: { title: string; children: ReactNode }) {
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
      </div>
    </main>
  );
}
