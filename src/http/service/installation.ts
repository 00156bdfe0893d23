import type { RequestHandler } from "express";
import { type HostRow, listHosts } from "../../../db/executions/hosts.ts";
import { HostList, Installation } from "../../../domain/api/service.ts";
import { sendAnswer } from "../answers/body.ts";
import { authorizeAccount, authorizeLook } from "../auth/authorize.ts";
import type { AppDeps } from "../deps.ts";

/**
 * `GET /service`: what a program needs to know to call this service. `file` is good on the service's own machine, the
 * text everywhere. The certificate is public: each connection shows it.
 */
export function createServiceRoute({
  db,
  apiUrl,
  ownCertificate,
  version,
}: Pick<AppDeps, "db" | "apiUrl" | "ownCertificate" | "version">): RequestHandler {
  return async (request, response) => {
    await authorizeAccount(db, request, "read");
    sendAnswer(response, Installation, { apiUrl: apiUrl(), version, ca: ownCertificate ?? null });
  };
}

/** `GET /hosts`: what the processes of this installation say of their hosts. */
export function createHostsRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    await authorizeLook(db, request);
    sendAnswer(response, HostList, { hosts: (await listHosts(db)).map(toHost) });
  };
}

function toHost({ programs, keyIds: _keyIds, ...about }: HostRow) {
  if (programs === null) return Object.assign(about, { programs });
  const { slots, running, waiting, offers, lacks } = programs;
  const network = lacks.networkProblem === null ? [] : [lacks.networkProblem];
  const commits = lacks.commits.map(({ workflowId, reason }) => `${workflowId}: ${reason}`);
  const scratch = lacks.scratchProblem == null ? [] : [lacks.scratchProblem];
  const problems = [...lacks.isolationProblems, ...network, ...scratch, ...commits];
  const { ceilings = null, loadAverage = null } = offers;
  return Object.assign(about, {
    programs: { slots, running, waiting, offers: { ...offers, ceilings, loadAverage }, problems },
  });
}
