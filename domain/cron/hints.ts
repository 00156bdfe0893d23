const ALIASES: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

/** What other schedulers accept as a whole and classic cron does not, with what to write instead. `position` is 1-based. */
export function findCronHint(text: string): { position: number; message: string } | undefined {
  const start = text.search(/[^ \t]/) + 1;
  const zone = /(?:CRON_)?TZ=\S*/i.exec(text);
  if (zone)
    return { position: zone.index + 1, message: "The time zone has a key of its own: triggers.schedule.timezone." };
  const control = /[^\x20-\x7e\t]/.exec(text);
  if (control) {
    return {
      position: control.index + 1,
      message: "Only digits, names, spaces and * , - / may stand in a cron expression.",
    };
  }
  if (text[start - 1] !== "@") return undefined;
  const alias = (text.trim().split(/[ \t]/)[0] as string).toLowerCase();
  const fields = Object.hasOwn(ALIASES, alias) ? ALIASES[alias] : undefined;
  if (fields !== undefined) return { position: start, message: `${alias} is not accepted. Write "${fields}".` };
  if (alias === "@every") {
    return {
      position: start,
      message: '@every is not accepted. Write the interval as steps, such as "*/5 * * * *" for every five minutes.',
    };
  }
  return { position: start, message: `${alias} is not accepted. Write five fields, such as "0 9 * * 1-5".` };
}

/** Why a part of a field that no classic rule reads was refused, or undefined when there is nothing special to say. */
export function explainForeign(part: string, field: { name: string; names: readonly string[] }): string | undefined {
  if (part.includes("?")) return "? is not accepted. Write * for any value.";
  if (part.includes("#")) {
    return `# (the n-th weekday of a month) is not accepted. Write the days on which it can fall, such as 1-7 in day of month, or check the date in your code.`;
  }
  if (/^L(W|-\d+)?$/i.test(part) || /^(\d|[a-z]{3})L$/i.test(part)) {
    return "L (last) is not accepted. Run on the first day of the next month (1), or on 28-31 and check the date in your code.";
  }
  if (/^(\d{1,2})?W$/i.test(part))
    return "W (nearest working day) is not accepted. Write a weekday range such as 1-5 in day of week.";
  if (/^[HR]$|^[HR][(/]/i.test(part))
    return "H and R (a value chosen for you) are not accepted. Write a number, and use triggers.schedule.jitter to spread executions.";
  const word = /[a-z]{4,}/i.exec(part)?.[0];
  const short = word?.slice(0, 3).toUpperCase();
  if (word && short && field.names.includes(short)) return `Full names are not accepted. Write ${short} for ${word}.`;
  return undefined;
}
