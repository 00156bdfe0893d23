import { unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "react";
import classes from "./code-editor.module.css";
import { basics, languageOf } from "./editor-state.ts";

/** What became of a text, line by line; what stayed the same is folded away. Null: there was no such file, or is none now. */
export function TextDiff(props: { path: string; before: string | null; after: string | null }) {
  const { path, before, after } = props;
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const view = new EditorView({
      parent: place.current as HTMLDivElement,
      state: EditorState.create({
        doc: after ?? before ?? "",
        extensions: [
          basics(`Changes of ${path}`),
          languageOf(path),
          EditorState.readOnly.of(true),
          EditorView.editable.of(false),
          before === null || after === null ? [] : compareWith(before),
        ],
      }),
    });
    return () => view.destroy();
  }, [path, before, after]);
  const whole = before === null ? "added" : after === null ? "removed" : undefined;
  return <div ref={place} className={classes.compared} data-whole={whole} />;
}

function compareWith(original: string): Extension {
  return unifiedMergeView({
    original,
    mergeControls: false,
    collapseUnchanged: { margin: 3, minSize: 6 },
    diffConfig: { scanLimit: 2_000, timeout: 1_000 },
  });
}
