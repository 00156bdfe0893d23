import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  startCompletion,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python, pythonLanguage } from "@codemirror/lang-python";
import { yaml } from "@codemirror/lang-yaml";
import {
  bracketMatching,
  codeFolding,
  foldGutter,
  foldKeymap,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
  syntaxTree,
} from "@codemirror/language";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  dropCursor,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  hoverTooltip,
  keymap,
  lineNumbers,
  type Rect,
  tooltips,
} from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { styleNonce } from "../app/nonce.ts";
import { completeConfig, describeConfig, type Suggestion } from "./config-help.ts";
import { MANIFEST_FILE } from "./problems.ts";
import { completePython } from "./python-help.ts";

/** A new state for a file: what its name says it is, with what helps to write that. */
export function createEditorState(options: {
  readonly path: string;
  readonly text: string;
  readonly readOnly: boolean;
  /** Returns the `config.yaml` as it stands. */
  readonly readConfig: () => string;
  readonly more: Extension;
}): EditorState {
  const { path, text, readOnly, readConfig, more } = options;
  return EditorState.create({
    doc: text,
    extensions: [
      basics(path),
      languageOf(path),
      search({ top: true }),
      EditorState.phrases.of(SEARCH_WORDS),
      readOnly ? reading() : writing(),
      tooltips({ tooltipSpace: ({ dom }) => belowTop(dom) }),
      path === MANIFEST_FILE && !readOnly ? configHelp() : [],
      pythonLanguage.data.of({ autocomplete: (context: CompletionContext) => completeName(context, readConfig()) }),
      more,
    ],
  });
}

/** What every text is shown with, also those that are only compared. */
export function basics(path: string): Extension {
  return [
    EditorView.cspNonce.of(styleNonce),
    // Also a text that cannot be edited is scrolled by the keyboard.
    EditorView.contentAttributes.of({ "aria-label": path, tabindex: "0" }),
    lineNumbers(),
    highlightSpecialChars(),
    syntaxHighlighting(classHighlighter),
    EditorView.lineWrapping,
  ];
}

/** The language of a file by its name; none where there is none for it. */
export function languageOf(path: string): Extension {
  if (/\.pyi?$/.test(path)) return [python(), indentUnit.of("    ")];
  if (/\.ya?ml$/.test(path)) return yaml();
  return [];
}

/** The words of the find panel, written as those of the page. */
const SEARCH_WORDS = Object.fromEntries(
  ["next", "previous", "all", "match case", "regexp", "by word", "replace", "replace all"].map((words) => [
    words,
    words === "regexp" ? "Regular expression" : words.slice(0, 1).toUpperCase() + words.slice(1),
  ]),
);

/** The window from the top of the editor on. What is said of the first line stands below it, and covers no button of the page. */
function belowTop(editor: HTMLElement): Rect {
  const { clientWidth: right, clientHeight: bottom } = document.documentElement;
  return { left: 0, top: Math.max(editor.getBoundingClientRect().top, 0), right, bottom };
}

function reading(): Extension {
  return [
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    keymap.of(searchKeymap),
  ];
}

function writing(): Extension {
  return [
    highlightActiveLine(),
    highlightActiveLineGutter(),
    history(),
    codeFolding(),
    foldGutter(),
    drawSelection(),
    dropCursor(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    highlightSelectionMatches(),
    lintGutter(),
    autocompletion(),
    keymap.of([
      ...closeBracketsKeymap,
      // Ctrl+Enter runs the draft, wherever the cursor is.
      ...defaultKeymap.filter(({ key }) => key !== "Mod-Enter"),
      ...searchKeymap,
      ...historyKeymap,
      ...foldKeymap,
      ...completionKeymap,
      ...lintKeymap,
      // Escape, then Tab leaves the editor; Ctrl+M makes Tab do so for good.
      indentWithTab,
    ]),
  ];
}

function configHelp(): Extension {
  return [
    EditorState.languageData.of(() => [{ autocomplete: completeHere }]),
    hoverTooltip((view, offset) => {
      const hover = describeConfig(view.state.doc.toString(), offset);
      if (hover === undefined) return null;
      const { from, to, title, paragraphs } = hover;
      return { pos: from, end: to, above: true, create: () => ({ dom: drawHover(title, paragraphs) }) };
    }),
  ];
}

function completeHere(context: CompletionContext): CompletionResult | null {
  const completion = completeConfig(context.state.doc.toString(), context.pos);
  if (completion === undefined) return null;
  // By itself only once a letter is there: an offer at every new line is in the way.
  if (!context.explicit && completion.from === context.pos) return null;
  const { from, to, suggestions } = completion;
  return { from, to, options: suggestions.map(toOption), validFor: /^[\w/+-]*$/ };
}

/** Beside what the language itself completes: its words, and names of the file. */
function completeName({ state, pos, explicit }: CompletionContext, config: string): CompletionResult | null {
  const line = state.doc.lineAt(pos);
  const completion = completePython(line.text.slice(0, pos - line.from), config);
  if (completion === undefined || (!explicit && isInText(state, pos))) return null;
  const options = completion.names.map((name) => ({ ...name, type: "variable", boost: 1 }));
  return { from: pos - completion.written, options, validFor: /^\w*$/ };
}

/** Whether a place is in a string or a comment. */
function isInText(state: EditorState, pos: number): boolean {
  return ["String", "Comment"].includes(syntaxTree(state).resolveInner(pos, -1).name);
}

function toOption({ label, insert, detail, info, kind, required }: Suggestion): Completion {
  return {
    label,
    detail,
    ...(info === "" ? {} : { info }),
    type: kind === "key" ? "property" : "constant",
    boost: required ? 1 : 0,
    apply(view, _completion, from, to) {
      const cursor = insert.includes("$") ? insert.indexOf("$") : insert.length;
      view.dispatch({
        changes: { from, to, insert: insert.replace("$", "") },
        selection: { anchor: from + cursor },
        userEvent: "input.complete",
      });
      if (kind === "key") startCompletion(view);
    },
  };
}

function drawHover(title: string, paragraphs: readonly string[]): HTMLElement {
  const box = document.createElement("div");
  box.className = "config-hover";
  const head = document.createElement("code");
  head.textContent = title;
  box.append(head);
  for (const text of paragraphs) {
    const paragraph = document.createElement("p");
    paragraph.textContent = text;
    box.append(paragraph);
  }
  return box;
}
