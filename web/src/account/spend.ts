import type { z } from "zod";
import type { Spend as SpendDocument } from "../../../domain/api/accounts.ts";

/** Credits by workflow and UTC day; every `perDay` has one amount for each of `days`. */
export type Spend = z.infer<typeof SpendDocument>;

/** Told apart by everybody as far as eight colours can be, and seen on light and dark alike. */
export const COLOURS = [
  "#5f6ee0",
  "#2f9e8f",
  "#d9822b",
  "#c2528b",
  "#4c9be8",
  "#8a8f3c",
  "#9a6bd1",
  "#868997",
] as const;

export interface Series {
  readonly name: string;
  readonly perDay: readonly number[];
  readonly total: number;
}

/** The workflows that cost most, each by itself, and all others as one: as many as there are colours. */
export function stackSpend(workflows: Spend["workflows"]): readonly Series[] {
  const sorted = workflows.filter(({ total }) => total > 0).sort((a, b) => b.total - a.total);
  if (sorted.length <= COLOURS.length) return sorted;
  const shown = sorted.slice(0, COLOURS.length - 1);
  const rest = sorted.slice(COLOURS.length - 1);
  const days = rest[0]?.perDay.length ?? 0;
  const perDay = Array.from({ length: days }, (_, day) => rest.reduce((sum, each) => sum + (each.perDay[day] ?? 0), 0));
  const total = rest.reduce((sum, each) => sum + each.total, 0);
  return [...shown, { name: `${rest.length} others`, perDay, total }];
}
