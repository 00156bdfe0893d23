import { listDestinations } from "../../db/accounts/destinations.ts";
import type { Db } from "../../db/connect.ts";
import { listPlaces } from "../../db/notices/places.ts";
import { listSetNames } from "../../db/secrets/stored-values.ts";
import type { FindSetNames } from "./validation.ts";

/** Finds what publishing a workflow may name. */
export function createFindSetNames(db: Db): FindSetNames {
  return async (accountId, workflowId) => {
    const [found, places, destinations] = await Promise.all([
      listSetNames(db, { accountId, workflowId }),
      listPlaces(db, accountId),
      listDestinations(db, accountId),
    ]);
    const namesOf = (wanted: string): Set<string> =>
      new Set(found.flatMap(({ kind, name }) => (kind === wanted ? [name] : [])));
    return {
      secrets: namesOf("secret"),
      variables: namesOf("variable"),
      places: new Set(places.map(({ name }) => name)),
      destinations: new Set(destinations.map(({ name }) => name)),
    };
  };
}
