// Whether the service of this container answers. Its certificate is not checked: the question is not who it is.
import { get } from "node:https";

const port = process.env.TREADLE_PORT || 8443;
const request = get(
  { host: "127.0.0.1", port, path: "/healthz", rejectUnauthorized: false, timeout: 3_000 },
  (answer) => {
    answer.resume();
    process.exitCode = answer.statusCode === 200 ? 0 : 1;
  },
);
request.on("timeout", () => request.destroy(new Error("no answer within 3 s")));
request.on("error", (error) => {
  console.error(error.message);
  process.exitCode = 1;
});
