import { expect, test } from "@jest/globals";
import { checkTimeZone } from "../../../domain/cron/time-zones.ts";

test.each([
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/Argentina/Buenos_Aires",
  "Asia/Kolkata",
  "Asia/Calcutta",
  "Europe/Kyiv",
  "America/Port-au-Prince",
  "Africa/Dar_es_Salaam",
  "Antarctica/DumontDUrville",
  "US/Eastern",
  "Australia/ACT",
  "Etc/UTC",
  "Etc/GMT+5",
  "Australia/Lord_Howe",
  "America/Indiana/Tell_City",
  "Pacific/Samoa",
  "Mexico/BajaNorte",
  "America/Knox_IN",
])("checkTimeZone, the IANA name %s, accepts it", (name) => {
  expect(checkTimeZone(name)).toEqual({ ok: true });
});

test.each([
  ["+02:00", "is an offset"],
  ["-5", "is an offset"],
  ["UTC+2", "is an offset"],
  ["GMT-05:00", "is an offset"],
  ["EST", '"America/New_York"'],
  ["EST5EDT", '"America/New_York"'],
  ["cest", '"Europe/Berlin"'],
  ["Z", '"UTC"'],
  ["utc", 'Did you mean "UTC"?'],
  ["europe/berlin", 'Did you mean "Europe/Berlin"?'],
  ["Europe/Berlni", 'Did you mean "Europe/Berlin"?'],
  ["Berlin", 'Did you mean "Europe/Berlin"?'],
  ["New York", 'Did you mean "America/New_York"?'],
  ["America/New York", 'Did you mean "America/New_York"?'],
  ["Asia/Kolkatta", 'Did you mean "Asia/Kolkata"?'],
  ["ASIA/KOLKATA", 'Did you mean "Asia/Kolkata"?'],
  ["Asia/kolkata", 'Did you mean "Asia/Kolkata"?'],
  ["Londn", 'Did you mean "Europe/London"?'],
  ["Mars/Olympus", "IANA name"],
  ["", "IANA name"],
  ["constructor", "IANA name"],
  ["x".repeat(5_000), "IANA name"],
])("checkTimeZone, %j, refuses it with %j", (name, words) => {
  const check = checkTimeZone(name);
  expect(check.ok ? "accepted" : check.message).toContain(words);
});
