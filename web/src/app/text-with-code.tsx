import { Fragment } from "react";
import { splitCode } from "./code-parts.ts";

/** A message, with what stands between backticks as code. */
export function TextWithCode({ text }: { readonly text: string }) {
  return splitCode(text).map((part, index) =>
    part.isCode ? <code key={index}>{part.text}</code> : <Fragment key={index}>{part.text}</Fragment>,
  );
}

/** The same outside React, where the code editor asks for an element. */
export function drawTextWithCode(text: string): HTMLElement {
  const words = document.createElement("span");
  for (const part of splitCode(text)) {
    const place = document.createElement(part.isCode ? "code" : "span");
    place.textContent = part.text;
    words.append(place);
  }
  return words;
}
