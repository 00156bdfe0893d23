import { Refusal } from "./refusal.ts";

/** The address of a service without `/api` and slashes at its end. Only HTTPS: over plain HTTP a token could be read on the way. */
export function toBaseUrl(text: string, name: string): string {
  if (!URL.canParse(text) || new URL(text).protocol !== "https:")
    throw new Refusal("No such service", `${name} must be an address that begins with https://.`);
  return text.replace(/\/+$/, "").replace(/\/api$/, "");
}
