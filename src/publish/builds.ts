import { endBuild, insertBuild, noteBuild } from "../../db/commits/builds.ts";
import type { Db } from "../../db/connect.ts";
import { ERROR_TEXT } from "../../domain/errors.ts";
import type { WorkflowId } from "../../domain/ids.ts";
import { createBuildId } from "../ids.ts";
import type { Log } from "../log.ts";
import type { Publication, Publish, PublishRequest } from "./publish.ts";

/** How long what is said waits until others can read it. */
const FLUSH_MS = 250;
/** A build that says nothing says so often that it lives. */
const SIGN_OF_LIFE_MS = 10_000;
/** What is kept of what it says. */
const LOG_CHARACTERS_MAX = 1_000_000;

export interface Building {
  readonly buildId: string;
  /** As `publish` ends, when it is on record. Rejects as it does. */
  readonly ended: Promise<Publication>;
}

/**
 * Publishes to a workflow, with a record of how far it is that every process can read: a build. `afterwards` is done once the commit
 * is made and before the build has ended. Answers when the record is there; nobody has to wait for the end.
 */
export async function beginBuild(
  { db, publish, log }: { db: Db; publish: Publish; log: Log },
  request: PublishRequest & { readonly workflowId: WorkflowId },
  afterwards: (publication: Publication) => Promise<void>,
): Promise<Building> {
  const buildId = createBuildId();
  await insertBuild(db, { id: buildId, workflowId: request.workflowId });
  const ended = run();
  ended.catch((error: unknown) => log.error({ event: "build.failed", buildId, error }, "A commit could not be made."));
  return { buildId, ended };

  async function run(): Promise<Publication> {
    const record = createRecord(db, buildId, log);
    try {
      const publication = await publish({ ...request, report: record.say });
      await afterwards(publication);
      await record.close();
      await endBuild(db, buildId, toOutcome(publication));
      return publication;
    } catch (error) {
      await record.close();
      const message = "Something went wrong on our side. Nothing was committed; commit again.";
      await endBuild(db, buildId, { error: ERROR_TEXT.internal, message, details: [] });
      throw error;
    }
  }
}

/** A build's end as its record has it. */
function toOutcome(publication: Publication): Parameters<typeof endBuild>[2] {
  switch (publication.kind) {
    case "published":
      return { commitId: publication.commitId, changed: publication.changed };
    case "invalid":
      return {
        error: ERROR_TEXT.invalid_request,
        message: "The files cannot be committed.",
        details: publication.problems,
      };
    case "head_moved":
      return {
        error: ERROR_TEXT.conflict,
        message: "Another member has committed since then. Look at what changed, take it over, and commit again.",
        details: [],
      };
    case "unknown_workflow":
      return { error: ERROR_TEXT.workflow_not_found, message: "The workflow was deleted meanwhile.", details: [] };
  }
}

/** Writes down what a build says, a little later and in order; that it lives, too. What cannot be written is lost, the build is not. */
function createRecord(db: Db, id: string, log: Log): { say(line: string): void; close(): Promise<void> } {
  let position = 0;
  let characters = 0;
  let said = "";
  let notedAt = Date.now();
  let writing: Promise<void> = Promise.resolve();
  const note = (): void => {
    const text = said;
    if (text === "" && Date.now() - notedAt < SIGN_OF_LIFE_MS) return;
    said = "";
    notedAt = Date.now();
    if (text !== "") position += 1;
    const entry = { id, position, text };
    writing = writing
      .then(() => noteBuild(db, entry))
      .catch((error: unknown) => log.warn({ event: "fault", buildId: id, error }, "What a build said was lost."));
  };
  const timer = setInterval(note, FLUSH_MS);
  return {
    say(line) {
      if (characters >= LOG_CHARACTERS_MAX) return;
      const whole = `${line.replaceAll("\0", "�")}\n`;
      characters += whole.length;
      said += characters < LOG_CHARACTERS_MAX ? whole : "… The rest is left out.\n";
    },
    close() {
      clearInterval(timer);
      note();
      return writing;
    },
  };
}
