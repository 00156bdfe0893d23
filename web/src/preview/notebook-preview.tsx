import { Text } from "@mantine/core";
import { useCallback, useMemo } from "react";
import { toPieces } from "../execution/ansi.ts";
import { Markdown } from "./markdown.tsx";
import { type Cell, type CellOutput, readNotebook } from "./notebook.ts";
import classes from "./preview.module.css";

/** A Jupyter notebook to be read: its texts, its code, and the texts and pictures that came of it. Nothing in it runs. */
export function NotebookPreview({ text }: { text: string }) {
  const cells = useMemo(() => readNotebook(text), [text]);
  if (cells === undefined) return <Text c="dimmed">This is no notebook that can be shown. Download it instead.</Text>;
  return (
    <div className={classes.page} tabIndex={0} role="region" aria-label="Notebook">
      {cells.map((cell, at) => (
        <ShownCell key={at} cell={cell} />
      ))}
      {cells.length === 0 && <Text c="dimmed">The notebook has no cells.</Text>}
    </div>
  );
}

function ShownCell({ cell: { kind, text, outputs } }: { cell: Cell }) {
  if (kind === "markdown") return <Markdown text={text} />;
  return (
    <div className={classes.cell}>
      <pre className={classes.source}>{text}</pre>
      {outputs.map((output, at) => (
        <Output key={at} output={output} />
      ))}
    </div>
  );
}

function Output({ output }: { output: CellOutput }) {
  if (output.kind === "picture") return <Picture {...output} />;
  return (
    <pre className={classes.result} data-kind={output.kind}>
      {toPieces(output.text)
        .map((piece) => piece.text)
        .join("")}
    </pre>
  );
}

/** Through an address of this page's own: the policy has no pictures out of addresses that hold them. */
function Picture({ type, base64 }: Extract<CellOutput, { kind: "picture" }>) {
  const show = useCallback(
    (image: HTMLImageElement) => {
      const content = decode(base64);
      if (content === undefined) return undefined;
      image.src = URL.createObjectURL(new Blob([content], { type }));
      return () => URL.revokeObjectURL(image.src);
    },
    [type, base64],
  );
  return <img ref={show} className={classes.image} alt="Output of the cell" />;
}

function decode(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    return undefined;
  }
}
