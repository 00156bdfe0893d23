import { Button } from "@mantine/core";
import type { Token, Tokens } from "marked";
import { createElement, Fragment, type ReactNode, useMemo, useState } from "react";
import { readTokens } from "./markdown-tokens.ts";
import classes from "./preview.module.css";

/** The page has two levels of headings before those of a document. */
const HEADING_SHIFT = 2;
const ENTITY = /&(?:[a-z][a-z0-9]{1,31}|#\d{1,7}|#x[\da-f]{1,6});/gi;

/** A Markdown file as a page, or as it is written. */
export function MarkdownPreview({ text }: { text: string }) {
  const [isSource, setSource] = useState(false);
  return (
    <>
      <Button variant="default" size="compact-sm" mb="xs" aria-pressed={isSource} onClick={() => setSource(!isSource)}>
        Show the source
      </Button>
      {isSource ? (
        <pre className={classes.text} tabIndex={0}>
          {text}
        </pre>
      ) : (
        <div className={classes.page} tabIndex={0} role="region" aria-label="Document">
          <Markdown text={text} />
        </div>
      )}
    </>
  );
}

/**
 * Draws a Markdown text element by element: HTML in it stays text, pictures are their descriptions, and links lead only to web and
 * mail addresses. A text that is too long or too deep is shown as it is.
 */
export function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => readTokens(text), [text]);
  if (tokens === undefined) return <pre className={classes.text}>{text}</pre>;
  return <>{drawAll(tokens)}</>;
}

function drawAll(tokens: readonly Token[] | undefined): ReactNode {
  return tokens?.map((token, at) => <Fragment key={at}>{draw(token as DrawnToken)}</Fragment>);
}

/** All kinds that there are without extensions. */
type DrawnToken =
  | Tokens.Blockquote
  | Tokens.Br
  | Tokens.Checkbox
  | Tokens.Code
  | Tokens.Codespan
  | Tokens.Def
  | Tokens.Del
  | Tokens.Em
  | Tokens.Escape
  | Tokens.HTML
  | Tokens.Heading
  | Tokens.Hr
  | Tokens.Image
  | Tokens.Link
  | Tokens.List
  | Tokens.Paragraph
  | Tokens.Space
  | Tokens.Strong
  | Tokens.Table
  | Tokens.Tag
  | Tokens.Text;

function draw(token: DrawnToken): ReactNode {
  switch (token.type) {
    case "heading":
      return createElement(`h${Math.min(6, token.depth + HEADING_SHIFT)}`, {}, drawAll(token.tokens));
    case "paragraph":
      return <p>{drawAll(token.tokens)}</p>;
    case "blockquote":
      return <blockquote>{drawAll(token.tokens)}</blockquote>;
    case "list":
      return drawList(token);
    case "table":
      return drawTable(token);
    case "code":
      return (
        <pre>
          <code>{token.text}</code>
        </pre>
      );
    case "hr":
      return <hr />;
    case "strong":
      return <strong>{drawAll(token.tokens)}</strong>;
    case "em":
      return <em>{drawAll(token.tokens)}</em>;
    case "del":
      return <del>{drawAll(token.tokens)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "link":
      return drawLink(token);
    case "image":
      return <span className={classes.picture}>{showEntities(token.text)}</span>;
    case "checkbox":
      return token.checked ? "☑ " : "☐ ";
    case "text":
      return "tokens" in token && token.tokens !== undefined ? drawAll(token.tokens) : showEntities(token.text);
    case "space":
    case "def":
      return null;
    default:
      return "text" in token ? token.text : null;
  }
}

function drawList({ ordered, start, items }: Tokens.List): ReactNode {
  const drawn = items.map((item, at) => <li key={at}>{drawAll(item.tokens)}</li>);
  return ordered ? <ol {...(start === "" ? {} : { start })}>{drawn}</ol> : <ul>{drawn}</ul>;
}

function drawTable({ header, rows }: Tokens.Table): ReactNode {
  return (
    <table>
      <thead>
        <tr>
          {header.map((cell, at) => (
            <th key={at} scope="col">
              {drawAll(cell.tokens)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>
            {row.map((cell, column) => (
              <td key={column}>{drawAll(cell.tokens)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function drawLink({ href, tokens }: Tokens.Link): ReactNode {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return drawAll(tokens);
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {drawAll(tokens)}
    </a>
  );
}

/** `&amp;` and the like, which Markdown has from HTML, as the characters that they mean. */
function showEntities(text: string): string {
  return text.replaceAll(
    ENTITY,
    (entity) => new DOMParser().parseFromString(entity, "text/html").body.textContent ?? entity,
  );
}
