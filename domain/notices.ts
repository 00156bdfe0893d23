/** What a place to tell is: an e-mail address, or a URL that gets JSON of our own, of Slack's or of Microsoft Teams' shape. */
export const PLACE_KINDS = ["email", "webhook", "slack", "teams"] as const;
export type PlaceKind = (typeof PLACE_KINDS)[number];

/** What a notice says; a closed list. */
export const NOTICE_KINDS = ["failure", "recovery", "missed", "slow", "disabled", "result", "test"] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** Where a notice is: still to be delivered, delivered, or given up. */
export const NOTICE_STATES = ["waiting", "delivered", "failed"] as const;
export type NoticeState = (typeof NOTICE_STATES)[number];

/** How manifests and paths name a place. */
export const PLACE_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;

/** Of a URL or an address. */
export const TARGET_CHARACTERS_MAX = 2_000;
