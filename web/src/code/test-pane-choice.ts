import { useLocalStorage, useMediaQuery } from "@mantine/hooks";
import { useCallback, useRef } from "react";

/** Whether the form stands beside the code: as it was chosen last in this browser, for `useLocalStorage`. */
export const TEST_PANE = { key: "treadle-test-pane", defaultValue: false };

/** From here on three columns fit. */
const WIDE = "(min-width: 68em)";

export interface TestPaneChoice {
  readonly isWide: boolean;
  readonly isOpen: boolean;
  toggle(): void;
  /** Opens the pane, which then runs the draft by itself. */
  openToRun(): void;
  /** Returns whether the pane that has just opened is to run the draft. True once for each `openToRun`. */
  takeOrder(): boolean;
}

/** The form and its log beside the code: on windows that are wide enough, as it was chosen last. */
export function useTestPane(): TestPaneChoice {
  const isWide = useMediaQuery(WIDE) === true;
  const [wanted, setWanted] = useLocalStorage(TEST_PANE);
  const isOrdered = useRef(false);
  const takeOrder = useCallback(() => {
    const was = isOrdered.current;
    isOrdered.current = false;
    return was;
  }, []);
  return {
    isWide,
    isOpen: isWide && wanted,
    toggle: () => setWanted(!wanted),
    openToRun: () => {
      isOrdered.current = true;
      setWanted(true);
    },
    takeOrder,
  };
}
