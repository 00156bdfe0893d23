import type { Role } from "../app/session.ts";

export const ROLE_WORDS: Readonly<Record<Role, string>> = { owner: "Owner", member: "Member", viewer: "Viewer" };

export const ROLE_CHOICES = Object.entries(ROLE_WORDS).map(([value, label]) => ({ value, label }));

/** What each role may do, in a few words. */
export const ROLE_HELP = "Viewers read, members write and run, owners also manage the members.";
