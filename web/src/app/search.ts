/** Returns the named texts of an address's query, without all else that stands there. */
export function cleanSearch<Name extends string>(...names: readonly Name[]) {
  return (given: Record<string, unknown>): { [name in Name]?: string } => {
    const found: { [name in Name]?: string } = {};
    for (const name of names) {
      const value = given[name];
      if (typeof value === "string" && value !== "") found[name] = value;
    }
    return found;
  };
}
