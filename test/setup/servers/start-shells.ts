// Starts two children, one of which ignores every polite signal, tells their pids, and waits to be killed.
import { superviseChild } from "../../../src/setup/servers/child.ts";

const started = ["", "trap '' TERM INT"].map((trap) => {
  let up = () => {};
  const isUp = new Promise<void>((resolve) => {
    up = resolve;
  });
  const child = superviseChild({
    name: "shell",
    command: "/bin/sh",
    args: ["-c", `${trap}\necho up; while :; do sleep 0.1; done`],
    env: {},
    onLine: () => up(),
  });
  return { child, isUp };
});
await Promise.all(started.map(({ isUp }) => isUp));
console.log(JSON.stringify({ polite: started[0]?.child.pid, stubborn: started[1]?.child.pid }));
