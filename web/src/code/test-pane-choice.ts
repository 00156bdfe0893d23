/** Whether the form stands beside the code: as it was chosen last in this browser, for `useLocalStorage`. */
export const TEST_PANE = { key: "treadle-test-pane", defaultValue: false };
