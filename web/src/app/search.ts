/** Takes the named texts out of an address's query, and leaves out whatever else somebody may have written there. */
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
