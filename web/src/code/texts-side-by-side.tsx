import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { useEffect, useRef } from "react";
import editorClasses from "./code-editor.module.css";
import classes from "./conflict-dialog.module.css";
import { basics, languageOf } from "./editor-state.ts";

const DIFF = { scanLimit: 2_000, timeout: 1_000 };

/**
 * Shows two versions of a text. The right one can be edited, and an arrow copies a whole piece from the left. On a narrow
 * page they stand one below the other. `yours` is read once, when it is first shown; `onChange` reports each edit.
 */
export function TextsSideBySide(props: {
  readonly path: string;
  readonly theirs: string;
  readonly yours: string;
  readonly isNarrow: boolean;
  readonly onChange: (yours: string) => void;
}) {
  const { path, theirs, yours, isNarrow, onChange } = props;
  const place = useRef<HTMLDivElement>(null);
  const current = useRef(yours);
  const tell = useRef(onChange);
  useEffect(() => {
    tell.current = onChange;
  }, [onChange]);

  useEffect(() => {
    const parent = place.current as HTMLDivElement;
    const own: Extension = [
      basics(`Your ${path}`),
      languageOf(path),
      history(),
      keymap.of([...defaultKeymap, ...historyKeymap]),
      EditorView.updateListener.of(({ docChanged, state }) => {
        if (!docChanged) return;
        current.current = state.doc.toString();
        tell.current(current.current);
      }),
    ];
    const view = isNarrow ? showBelow(parent, { own, theirs, yours: current.current }) : showBeside(parent);
    return () => view.destroy();

    function showBeside(at: HTMLElement): MergeView {
      return new MergeView({
        parent: at,
        a: {
          doc: theirs,
          extensions: [
            basics(`Their ${path}`),
            languageOf(path),
            EditorState.readOnly.of(true),
            EditorView.editable.of(false),
          ],
        },
        b: { doc: current.current, extensions: own },
        revertControls: "a-to-b",
        renderRevertControl: drawArrow,
        collapseUnchanged: { margin: 3, minSize: 6 },
        diffConfig: DIFF,
      });
    }
  }, [path, theirs, isNarrow]);
  return <div ref={place} className={`${editorClasses.compared} ${classes.texts}`} />;
}

/** Their lines stand above one's own where those differ, each piece with a choice. */
function showBelow(parent: HTMLElement, texts: { own: Extension; theirs: string; yours: string }): EditorView {
  return new EditorView({
    parent,
    doc: texts.yours,
    extensions: [
      texts.own,
      unifiedMergeView({
        original: texts.theirs,
        mergeControls: (kind, act) => drawChoice(kind === "reject" ? "Take theirs" : "Keep mine", act),
        collapseUnchanged: { margin: 3, minSize: 6 },
        diffConfig: DIFF,
      }),
    ],
  });
}

function drawArrow(): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "→";
  button.title = "Take these lines over";
  button.ariaLabel = "Take these lines over";
  // It listens to mice alone.
  button.onclick = ({ detail }) => {
    if (detail === 0) button.dispatchEvent(new MouseEvent("mousedown", { bubbles: true }));
  };
  return button;
}

function drawChoice(label: string, act: (event: MouseEvent) => void): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = label;
  button.onclick = act;
  return button;
}
