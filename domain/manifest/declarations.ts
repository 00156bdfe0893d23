import type { ManifestBounds } from "./bounds.ts";
import { DECLARED_KINDS, type InputDeclaration } from "./declared-kinds.ts";
import type { Problems } from "./issues.ts";
import type { Reading } from "./kinds/declared-kind.ts";
import type { Input } from "./manifest.ts";
import type { Places } from "./positions.ts";
import { checkValue, findTextProblem, isFileInput, valueKindOf } from "./values.ts";

/**
 * Returns the input that a declaration means. Returns undefined when its constraints contradict each other or its default
 * breaks them; the reasons are added to `problems`.
 */
export function toInput(
  name: string,
  declaration: InputDeclaration,
  bounds: ManifestBounds,
  { problems, textOf }: { problems: Problems; textOf: Places["textOf"] },
): Input | undefined {
  const before = problems.count();
  const report: Reading["report"] = (key, message) => problems.addAtValue(["inputs", name, key], message);
  const hasDefault = "default" in declaration && declaration.default !== undefined;
  const declared = {
    name,
    label: declaration.label ?? name,
    description: declaration.description ?? "",
    required: !hasDefault && (declaration.required ?? true),
  };
  const input = DECLARED_KINDS[declaration.type].read(declaration, declared, { report, bounds });
  if (problems.count() === before && !isFileInput(input) && input.kind !== "secret" && input.default !== null) {
    const text = textOf(["inputs", name, "default"]);
    const unlike = findTextProblem(input, text);
    for (const message of unlike === undefined ? checkValue(input, input.default) : [unlike])
      report("default", message);
    const keepsText = text !== undefined && valueKindOf(input).keepsText?.(text);
    if (problems.count() === before && keepsText) return { ...input, defaultText: text } as Input;
  }
  return problems.count() === before ? input : undefined;
}
