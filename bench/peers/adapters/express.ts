import { randomUUID } from "node:crypto";
import express from "express";
import pg from "pg";
import { listen } from "../http.ts";
import { type ProgramName, runProgram } from "../peer.ts";
import { servedPeer } from "../served.ts";

/** No engine: Express, a row before the run and the same row after it. A crash in between loses the run. */
export const peer = servedPeer({
  file: "express",
  name: "Express + PostgreSQL",
  version: "5.3.0",
  isolation: "none: a fresh process",
  record: "PostgreSQL, 2 commits",
  database: true,
  async install() {},
  async serve({ setting, database }) {
    const pool = new pg.Pool({ ...database, max: 20 });
    pool.on("error", () => {}); // PostgreSQL stops before the last connection is closed.
    await pool.query("create table if not exists runs (id uuid primary key, program text, value text, answer text)");
    const app = express().use(express.json());
    app.post("/run", async (request, response) => {
      const { program, value } = request.body as { program: ProgramName; value: string };
      const id = randomUUID();
      await pool.query("insert into runs (id, program, value) values ($1, $2, $3)", [id, program, value]);
      const answer = await runProgram(setting, program, value);
      await pool.query("update runs set answer = $2 where id = $1", [id, answer]);
      response.json({ answer });
    });
    const server = await listen(app);
    return { url: server.url, stop: () => server.stop().then(() => pool.end()) };
  },
});
