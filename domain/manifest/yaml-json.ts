import { isMap, isScalar, isSeq, type Node, type Scalar } from "yaml";
import { JSON_DEPTH_MAX } from "./json-values.ts";

/** A payload, in its nested form, stands two levels above its values. What is deeper is refused, so its text is of no use. */
const DEPTH_MAX = JSON_DEPTH_MAX + 2;
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
const INTEGER = /^(?:[-+]?\d+|0x[\da-fA-F]+|0o[0-7]+)$/;

/** Returns the value of a YAML node as JSON text: numbers with all their digits, keys in their order. `resolve` finds what an alias stands for. */
export function toJsonText(node: unknown, resolve: (node: Node | null) => Node | null, depth = 0): string {
  if (depth > DEPTH_MAX) return "null";
  const meant = resolve(node as Node | null);
  if (isSeq(meant)) return `[${meant.items.map((item) => toJsonText(item, resolve, depth + 1)).join(",")}]`;
  if (isMap(meant)) {
    const members = meant.items.map(({ key, value }) => {
      const name = isScalar(key) ? String(key.value) : "";
      return `${JSON.stringify(name)}:${toJsonText(value, resolve, depth + 1)}`;
    });
    return `{${members.join(",")}}`;
  }
  return isScalar(meant) ? writeScalar(meant) : "null";
}

/** YAML has more ways to write a number than JSON. */
function writeScalar({ value, source }: Scalar): string {
  if (typeof value !== "number") return JSON.stringify(value) ?? "null";
  const written = source ?? String(value);
  if (JSON_NUMBER.test(written)) return written;
  if (INTEGER.test(written)) return String(BigInt(written));
  const text = String(value);
  return INTEGER.test(text) ? `${text}.0` : text;
}
