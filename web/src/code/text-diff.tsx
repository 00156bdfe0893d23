import { unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "react";
import classes from "./code-editor.module.css";
import { basics, languageOf } from "./editor-state.ts";

/** What became of a text, line by line; what stayed the same is folded away. */
export function TextDiff({ path, before, after }: { path: string; before: string; after: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const view = new EditorView({
      parent: place.current as HTMLDivElement,
      state: EditorState.create({
        doc: after,
        extensions: [
          basics(`Changes of ${path}`),
          languageOf(path),
          EditorState.readOnly.of(true),
          EditorView.editable.of(false),
          unifiedMergeView({
            original: before,
            mergeControls: false,
            collapseUnchanged: { margin: 3, minSize: 6 },
            diffConfig: { scanLimit: 2_000, timeout: 1_000 },
          }),
        ],
      }),
    });
    return () => view.destroy();
  }, [path, before, after]);
  return <div ref={place} className={classes.compared} />;
}
