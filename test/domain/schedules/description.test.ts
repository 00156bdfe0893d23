import { expect, test } from "@jest/globals";
import { parseCron } from "../../../domain/cron/cron.ts";
import { describeSchedule } from "../../../domain/cron/description.ts";

test.each([
  ["30 7 * * 1-5", "every weekday at 07:30"],
  ["0 9 * * *", "every day at 09:00"],
  ["* * * * *", "every minute"],
  ["*/5 * * * *", "every 5 minutes"],
  ["0 * * * *", "every hour"],
  ["1 * * * *", "every hour at 1 minute past"],
  ["5,35 * * * *", "every hour at 5 and 35 minutes past"],
  ["15 */2 * * *", "every 2 hours at 15 minutes past"],
  ["0 */4 * * *", "every day at 00:00, 04:00, 08:00, 12:00, 16:00 and 20:00"],
  ["*/15 8-18 * * MON-FRI", "every weekday every 15 minutes during 08:00–18:59"],
  ["0 9-17 * * 1-5", "every weekday on the hour during 09:00–17:59"],
  ["* 2 * * *", "every minute during 02:00–02:59"],
  ["0 8,20 * * SAT,SUN", "every Sunday and Saturday at 08:00 and 20:00"],
  ["0 0 1,15 * *", "on day 1 and 15 of the month at 00:00"],
  ["0 0 13 * 5", "on day 13 of the month and every Friday at 00:00"],
  [
    "0 0 */2 * 5",
    "on day 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29 and 31 of the month if that is a Friday at 00:00",
  ],
  ["0 6 1 JAN,JUL *", "on day 1 of January and July at 06:00"],
  ["0 6 * 12 *", "every day in December at 06:00"],
  ["0 6 13 6 5", "on day 13 of June and every Friday in June at 06:00"],
  ["0 6 1-31 * 5", "every day at 06:00"],
])("describeSchedule, of %j, says %j", (text, expected) => {
  const result = parseCron(text);
  if (!result.ok) throw new Error(text);
  expect(describeSchedule(result.cron, "Europe/Berlin")).toBe(`${expected}, Europe/Berlin`);
});
