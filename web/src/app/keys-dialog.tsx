import { Kbd, Text } from "@mantine/core";
import { Dialog } from "./dialog.tsx";
import { Fact, Facts } from "./facts.tsx";

/** What the editor does at which keys; `docs/editor.md` has the same. */
const KEYS: readonly { readonly where: string; readonly keys: readonly (readonly [string, readonly string[]])[] }[] = [
  {
    where: "Everywhere",
    keys: [
      ["Go to a workflow, a page or a run", ["Ctrl", "K"]],
      ["Show these keys", ["?"]],
      ["Close a dialog", ["Esc"]],
    ],
  },
  {
    where: "In the code and in forms",
    keys: [
      ["Run", ["Ctrl", "Enter"]],
      ["Save the draft", ["Ctrl", "S"]],
      ["Commit", ["Ctrl", "Shift", "Enter"]],
      ["Leave the code", ["Esc", "Tab"]],
    ],
  },
  {
    where: "Among files",
    keys: [
      ["Rename", ["F2"]],
      ["Delete", ["Del"]],
    ],
  },
];

/** Lists the keys. On a Mac, Ctrl is the command key. */
export function KeysDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog onClose={onClose} title="Keyboard shortcuts" size="md">
      {KEYS.map(({ where, keys }) => (
        <section key={where} aria-label={where}>
          <Text fw={600} mt="sm" mb={6}>
            {where}
          </Text>
          <Facts>
            {keys.map(([what, pressed]) => (
              <Fact key={what} name={what}>
                {pressed.map((key) => (
                  <Kbd key={key} ml={4}>
                    {key}
                  </Kbd>
                ))}
              </Fact>
            ))}
          </Facts>
        </section>
      ))}
    </Dialog>
  );
}
