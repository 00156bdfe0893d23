import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { Annotation, type EditorState, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { styleNonce } from "../app/nonce.ts";
import { drawTextWithCode } from "../app/text-with-code.tsx";
import classes from "./code-editor.module.css";
import markClasses from "./code-marks.module.css";
import { createEditorState } from "./editor-state.ts";
import { toLineFeeds, withBreaksOf } from "./line-breaks.ts";
import type { Mark } from "./problems.ts";

/** Marks changes that come from outside. They are not reported back. */
const FROM_OUTSIDE = Annotation.define<boolean>();

export interface CodeEditorProps {
  /** Names the text: each has its own history, selection and place. */
  readonly path: string;
  readonly text: string;
  readonly onChange: (text: string) => void;
  /** The `config.yaml` beside it, whose inputs are completed. */
  readonly config?: string;
  /** Undefined: those that there are stay, and move with the text. */
  readonly marks: readonly Mark[] | undefined;
  readonly readOnly: boolean;
  /** Called for the button of a problem that has a fix. */
  readonly onFix?: (problem: Mark["problem"]) => void;
  /** Where to put the cursor, whenever this object is another one. */
  readonly goTo: { readonly line: number; readonly column: number } | undefined;
}

/** CodeMirror for one file of several. */
export function CodeEditor(props: CodeEditorProps) {
  const { path, text, onChange, config = "", marks, readOnly, onFix, goTo } = props;
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const states = useRef(new Map<string, EditorState>());
  const shown = useRef("");
  const tell = useRef(onChange);
  const given = useRef(text);
  const beside = useRef(config);
  const fix = useRef(onFix);

  useEffect(() => {
    tell.current = onChange;
    given.current = text;
    beside.current = config;
    fix.current = onFix;
  }, [onChange, text, config, onFix]);

  useEffect(() => {
    const parent = place.current as HTMLDivElement;
    // Its styles are put into the page when it is made, before it has the state of a file.
    const editor = new EditorView({ parent, extensions: EditorView.cspNonce.of(styleNonce) });
    view.current = editor;
    return () => {
      editor.destroy();
      view.current = undefined;
      shown.current = "";
    };
  }, []);

  useEffect(() => {
    const editor = view.current;
    if (editor === undefined) return;
    if (shown.current !== path) {
      if (shown.current !== "") states.current.set(shown.current, editor.state);
      const listener: Extension = EditorView.updateListener.of(({ docChanged, transactions, state }) => {
        if (!docChanged || transactions.some((one) => one.annotation(FROM_OUTSIDE))) return;
        tell.current(withBreaksOf(given.current, state.doc.toString()));
      });
      const known = states.current.get(path);
      // A file that became read-only, or the reverse, begins anew.
      const fits = known !== undefined && known.readOnly === readOnly;
      editor.setState(
        fits ? known : createEditorState({ path, text, readOnly, readConfig: () => beside.current, more: listener }),
      );
      shown.current = path;
    }
    const old = editor.state.doc.toString();
    const wanted = toLineFeeds(text);
    if (old !== wanted) editor.dispatch({ changes: findReplacement(old, wanted), annotations: FROM_OUTSIDE.of(true) });
  }, [path, text, readOnly]);

  useEffect(() => {
    const editor = view.current;
    if (editor === undefined || marks === undefined) return;
    const length = editor.state.doc.length;
    const diagnostics = marks
      .filter(({ to }) => to <= length)
      .map((mark) => toDiagnostic(mark, editor.state.readOnly ? undefined : (problem) => fix.current?.(problem)));
    editor.dispatch(setDiagnostics(editor.state, diagnostics));
  }, [marks, path]);

  useEffect(() => {
    const editor = view.current;
    if (editor === undefined || goTo === undefined) return;
    const line = editor.state.doc.line(Math.min(Math.max(goTo.line, 1), editor.state.doc.lines));
    const anchor = Math.min(line.from + Math.max(goTo.column, 1) - 1, line.to);
    editor.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
    editor.focus();
  }, [goTo]);

  return <div ref={place} className={`${classes.place} ${markClasses.marked}`} data-path={path} />;
}

function toDiagnostic({ from, to, problem }: Mark, onFix: CodeEditorProps["onFix"]): Diagnostic {
  const { message, isWarning, fix } = problem;
  const actions =
    fix === undefined || onFix === undefined
      ? []
      : [{ name: fix.title.replaceAll("`", ""), apply: () => onFix(problem) }];
  const renderMessage = (): Node => drawTextWithCode(message);
  return { from, to, message, renderMessage, severity: isWarning ? "warning" : "error", actions };
}

/** One replacement that leaves what both begin and end with alone, so that cursors and marks stay where they are. */
function findReplacement(old: string, text: string): { from: number; to: number; insert: string } {
  let start = 0;
  while (start < old.length && start < text.length && old[start] === text[start]) start += 1;
  let end = 0;
  const rest = Math.min(old.length, text.length) - start;
  while (end < rest && old[old.length - 1 - end] === text[text.length - 1 - end]) end += 1;
  return { from: start, to: old.length - end, insert: text.slice(start, text.length - end) };
}
