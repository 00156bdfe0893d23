import type { RequestHandler } from "express";
import {
  changeTarget,
  deletePlace,
  findPlace,
  insertPlace,
  listPlaces,
  listPlaceUsers,
  replaceSecret,
  type StoredPlace,
} from "../../../db/notices/places.ts";
import {
  AddedPlace,
  ChangedPlace,
  NewPlace,
  PlaceChange,
  PlaceList,
  PlaceName,
  RemovedPlace,
  RotatedSecret,
  SecretRotation,
} from "../../../domain/api/notices.ts";
import type { AccountId, WorkflowId } from "../../../domain/ids.ts";
import { listPlaceNames } from "../../../domain/manifest/notify.ts";
import type { Notify } from "../../../domain/manifest/notify-schema.ts";
import { openAccountBox } from "../../keys/data-keys.ts";
import type { SecretBox } from "../../keys/secret-box.ts";
import { listGrantedEndpoints } from "../../notices/granted-endpoints.ts";
import { findTargetProblem, openTarget, sealSecret, sealTarget, showTarget } from "../../notices/places.ts";
import { createSigningSecret } from "../../notices/signature.ts";
import { parseRequest, readBody, refuseField, sendAnswer } from "../answers/body.ts";
import { authorizeAccount } from "../auth/authorize.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";

type Deps = Pick<AppDeps, "db" | "secretBox" | "notices" | "log">;
type Box = Pick<SecretBox, "seal" | "open">;

const USERS_NAMED = 5;

/** `GET /api/places`: the places of the account, with the workflows that name them. */
export function createPlacesRoute({ db, secretBox }: Deps): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "read");
    const [places, users] = await Promise.all([listPlaces(db, accountId), listUsers(db, accountId)]);
    const box = places.length === 0 ? undefined : await openAccountBox(db, secretBox, accountId);
    const toListed = (place: StoredPlace) =>
      Object.assign(toShown(place, box as Box), { usedBy: usersOf(users, place.name) });
    sendAnswer(response, PlaceList, { places: places.map(toListed) });
  };
}

/** `POST /api/places`: adds one. The secret of a webhook is in this answer alone. */
export function createPlaceAdditionRoute({ db, secretBox, notices, log }: Deps): RequestHandler {
  return async (request, response) => {
    const { accountId, email } = await authorizeAccount(db, request, "own");
    const { name, kind, target } = await readBody(request, NewPlace);
    const problem = findTargetProblem(kind, target, notices, await listGrantedEndpoints(db, accountId));
    if (problem !== undefined) throw refuseField("target", problem);
    const box = await openAccountBox(db, secretBox, accountId);
    const place = { accountId, name };
    const secret = kind === "webhook" ? createSigningSecret() : null;
    const outcome = await insertPlace(db, {
      accountId,
      name,
      kind,
      target: sealTarget(box, place, target),
      secret: secret === null ? null : sealSecret(box, place, secret),
      createdBy: email,
    });
    if (outcome === "taken")
      throw new ApiError("conflict", `There is a place ${name} already. Remove it first, or choose another name.`);
    if (outcome === "full")
      throw new ApiError("conflict", "The account has 100 places to tell, the most there may be. Remove some.");
    log.info({ event: "place.added", accountId, name, kind }, "A place to tell was added.");
    const added = await requirePlace(db, accountId, name);
    sendAnswer(response, AddedPlace, Object.assign(toShown(added, box), { secret }), 201);
  };
}

/** `PUT /api/places/{name}`: another target. A place that was disabled is used again. */
export function createPlaceChangeRoute({ db, secretBox, notices, log }: Deps): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "own");
    const name = parseRequest(PlaceName, request.params["name"]);
    const { target } = await readBody(request, PlaceChange);
    const { kind } = await requirePlace(db, accountId, name);
    const problem = findTargetProblem(kind, target, notices, await listGrantedEndpoints(db, accountId));
    if (problem !== undefined) throw refuseField("target", problem);
    const box = await openAccountBox(db, secretBox, accountId);
    await changeTarget(db, { accountId, name, target: sealTarget(box, { accountId, name }, target) });
    log.info({ event: "place.changed", accountId, name }, "A place to tell was changed.");
    sendAnswer(response, ChangedPlace, toShown(await requirePlace(db, accountId, name), box));
  };
}

/** `DELETE /api/places/{name}`: removes one that no latest commit names. */
export function createPlaceRemovalRoute({ db, log }: Deps): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "own");
    const name = parseRequest(PlaceName, request.params["name"]);
    const users = usersOf(await listUsers(db, accountId), name);
    if (users.length > 0) throw inUse(name, users);
    if (!(await deletePlace(db, accountId, name))) throw noSuchPlace(name);
    log.info({ event: "place.removed", accountId, name }, "A place to tell was removed.");
    sendAnswer(response, RemovedPlace, { name, removed: true });
  };
}

/** `POST /api/places/{name}/secrets`: a new secret for signatures. The one before signs as well for the grace chosen. */
export function createSecretRotationRoute({ db, secretBox, log }: Deps): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "own");
    const name = parseRequest(PlaceName, request.params["name"]);
    const { graceSeconds } = await readBody(request, SecretRotation);
    const { kind } = await requirePlace(db, accountId, name);
    if (kind !== "webhook")
      throw new ApiError("conflict", `${name} has no secret: of the places, webhooks alone are signed.`);
    const secret = createSigningSecret();
    const box = await openAccountBox(db, secretBox, accountId);
    const sealed = sealSecret(box, { accountId, name }, secret);
    const rotated = await replaceSecret(db, { accountId, name, secret: sealed, graceSeconds });
    if (rotated === undefined) throw noSuchPlace(name);
    log.info({ event: "place.rotated", accountId, name }, "The secret of a place to tell was replaced.");
    sendAnswer(response, RotatedSecret, { name, secret, previousSecretUntil: rotated.previousUntil }, 201);
  };
}

/** Returns a place of the account; throws 404 where there is none. */
export async function requirePlace(db: Deps["db"], accountId: AccountId, name: string): Promise<StoredPlace> {
  const place = await findPlace(db, accountId, name);
  if (place === undefined) throw noSuchPlace(name);
  return place;
}

function toShown(place: StoredPlace, box: Box) {
  const { name, kind, createdBy, createdAt, previousUntil, disabledAt, disabledReason } = place;
  const target = showTarget(kind, openTarget(box, place));
  return { name, kind, target, createdBy, createdAt, previousSecretUntil: previousUntil, disabledAt, disabledReason };
}

interface User {
  readonly workflowId: WorkflowId;
  readonly name: string;
  readonly places: readonly string[];
}

async function listUsers(db: Deps["db"], accountId: AccountId): Promise<User[]> {
  const users = await listPlaceUsers(db, accountId);
  return users.map(({ workflowId, name, notify }) => ({ workflowId, name, places: listPlaceNames(notify as Notify) }));
}

function usersOf(users: readonly User[], place: string): { workflowId: WorkflowId; name: string }[] {
  return users.filter(({ places }) => places.includes(place)).map(({ workflowId, name }) => ({ workflowId, name }));
}

function inUse(name: string, users: ReturnType<typeof usersOf>): ApiError {
  const shown = users.slice(0, USERS_NAMED).map((user) => `${user.name} (${user.workflowId})`);
  const more = users.length > USERS_NAMED ? ` and ${users.length - USERS_NAMED} more` : "";
  return new ApiError("conflict", `${name} is named by ${shown.join(", ")}${more}. Publish them without it first.`);
}

function noSuchPlace(name: string): ApiError {
  return new ApiError("not_found", `There is no place ${name} to tell. "notify list" shows those there are.`);
}
