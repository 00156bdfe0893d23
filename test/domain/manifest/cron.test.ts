import { expect, test } from "@jest/globals";
import { type Cron, parseCron } from "../../../domain/cron/cron.ts";

function parse(text: string): Cron {
  const result = parseCron(text);
  if (!result.ok) throw new Error(result.problems.map((problem) => problem.message).join(" "));
  return result.cron;
}

test("parseCron, a week-day expression, holds each field as sorted numbers", () => {
  expect(parse(" 0,30 9-17/4\t* JAN,dec MON-fri ")).toEqual({
    text: "0,30 9-17/4 * JAN,dec MON-fri",
    minutes: [0, 30],
    hours: [9, 13, 17],
    days: Array.from({ length: 31 }, (_, index) => index + 1),
    months: [1, 12],
    weekdays: [1, 2, 3, 4, 5],
    dayRestricted: false,
    weekdayRestricted: true,
    hourStar: false,
  });
});

test.each([
  ["1-7", [0, 1, 2, 3, 4, 5, 6]],
  ["5-7", [0, 5, 6]],
  ["0-7", [0, 1, 2, 3, 4, 5, 6]],
  ["7", [0]],
  ["0", [0]],
  ["SUN", [0]],
  ["*/2", [0, 2, 4, 6]],
  ["*/7", [0]],
  ["sun-Tue,FRI", [0, 1, 2, 5]],
])("parseCron, weekday %s, means %j", (weekday, expected) => {
  expect(parse(`0 0 * * ${weekday}`).weekdays).toEqual(expected);
});

test("parseCron, day fields that begin with a star, are not restricted", () => {
  expect(parse("0 0 */2 * 1")).toMatchObject({ dayRestricted: false, weekdayRestricted: true });
  expect(parse("0 0 1,*/2 * */2")).toMatchObject({ dayRestricted: true, weekdayRestricted: false });
  expect(parse("0 */2 1 * *")).toMatchObject({ hourStar: true });
  expect(parse("0 0-23 1 * *")).toMatchObject({ hourStar: false });
});

test("parseCron, steps as large as the range, are accepted", () => {
  expect(parse("*/60 */24 */31 */12 *")).toMatchObject({ minutes: [0], hours: [0], days: [1], months: [1] });
  expect(parse("5-59/10 * * * *").minutes).toEqual([5, 15, 25, 35, 45, 55]);
});

test.each([
  ["@daily", 1, '"0 0 * * *"'],
  [" @hourly", 2, '"0 * * * *"'],
  ["@every 5m", 1, '"*/5 * * * *"'],
  ["@reboot", 1, "five fields"],
  ["@toString", 1, "five fields"],
  ["0 0 9 * * 1-5", 13 - 2, "seconds"],
  ["0 9 * *", 8, "not 4"],
  ["", 1, "five fields"],
  ["   ", 1, "five fields"],
  ["0 0 9 * * 1 2026", 11, "not 7"],
  ["TZ=UTC 0 9 * * *", 1, "triggers.schedule.timezone"],
  ["CRON_TZ=Europe/Berlin 0 9 * * *", 1, "triggers.schedule.timezone"],
  ["0 0 L * *", 5, "L (last)"],
  ["0 0 * * 5L", 9, "L (last)"],
  ["0 0 LW * *", 5, "L (last)"],
  ["0 0 15W * *", 5, "W (nearest"],
  ["0 0 * * MON#1", 9, "# (the n-th"],
  ["0 0 ? * 1", 5, "Write *"],
  ["H 0 * * *", 1, "jitter"],
  ["0 22-2 * * *", 3, "22-23,0-2"],
  ["0 0 * * FRI-MON", 9, "5-6,0-1"],
  ["0 0 * * FRI-SUN", 9, "5-7"],
  ["0 0 * * 6-0", 9, "6-7"],
  ["5/10 * * * *", 1, "5-59/10"],
  ["0 2/4 * * *", 3, "2-23/4"],
  ["*,5 * * * *", 1, "Write * alone"],
  ["5,* * * * *", 3, "Write * alone"],
  ["*/61 * * * *", 3, "larger than its range"],
  ["1-5/6 * * * *", 5, "larger than its range"],
  ["*/0 * * * *", 3, "from 1 on"],
  ["*/ * * * *", 3, "from 1 on"],
  ["*/-5 * * * *", 3, "from 1 on"],
  ["*/1.5 * * * *", 3, "from 1 on"],
  ["1-30/2/3 * * * *", 6, "one step"],
  ["60 * * * *", 1, "0 to 59"],
  ["0 24 * * *", 3, "0 to 23"],
  ["0 0 0 * *", 5, "1 to 31"],
  ["0 0 32 * *", 5, "1 to 31"],
  ["0 0 * 13 *", 7, "1 to 12"],
  ["0 0 * 0 *", 7, "1 to 12"],
  ["0 0 * * 8", 9, "0 to 7"],
  ["0 0 * * 1-8", 11, "0 to 7"],
  ["0 0 * * monday", 9, "Write MON"],
  ["0 0 * January *", 7, "Write JAN"],
  ["0 0 * * MO", 9, '"MO" is not a day of week'],
  ["0 MON * * *", 3, '"MON" is not an hour'],
  ["0 0 * * ,1", 9, "value is missing"],
  ["0 0 * * 1,", 11, "value is missing"],
  ["0 0 * * 1,,2", 11, "value is missing"],
  ["-5 * * * *", 1, "not a range"],
  ["5- * * * *", 1, "not a range"],
  ["1-2-3 * * * *", 1, "not a range"],
  ["005 * * * *", 1, "0 to 59"],
  ["1e1 * * * *", 1, '"1e1" is not a minute'],
  ["0 9 * * ١", 9, "Only digits"],
  ["0 9\n* * *", 4, "Only digits"],
  ["constructor * * * *", 1, "is not a minute"],
  ["0 0 30 2 *", 5, "never fires"],
  ["0 0 30,31 FEB */2", 5, "never fires"],
  ["0 0 31 4,6,9,11 *", 5, "never fires"],
])("parseCron, %j, is refused at %i with %j", (text, position, words) => {
  const result = parseCron(text);
  expect(result.ok ? "accepted" : result.problems).toEqual([{ position, message: expect.stringContaining(words) }]);
});

test("parseCron, an expression with several mistakes, reports all at their positions", () => {
  const result = parseCron("61,5/2 25 ? * MON-SUN,9");
  expect(result.ok ? [] : result.problems.map((problem) => problem.position)).toEqual([1, 4, 8, 11, 15, 23]);
});

test("parseCron, a rare date that exists, is accepted", () => {
  expect(parseCron("0 0 29 2 *").ok).toBe(true);
  expect(parseCron("0 0 31 4,5 *").ok).toBe(true);
  expect(parseCron("0 0 31 2 5").ok).toBe(true);
});

test("parseCron, a very long text, is refused without being read", () => {
  expect(parseCron(`${"1,".repeat(1_000)}1 * * * *`)).toMatchObject({ ok: false });
});
