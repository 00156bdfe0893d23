/** A part of a message: words, or what stands between backticks. */
interface Part {
  readonly text: string;
  readonly isCode: boolean;
}

/** Returns the parts of a message, in which names of code stand between backticks. A backtick without a second is itself. */
export function splitCode(message: string): Part[] {
  return message
    .split(/`([^`\n]+)`/)
    .map((text, index) => ({ text, isCode: index % 2 === 1 }))
    .filter(({ text }) => text !== "");
}
