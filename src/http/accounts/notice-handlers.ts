import type { RequestHandler } from "express";
import type { AppDeps } from "../deps.ts";
import type { NOTICE_ROUTES } from "../routes/notices.ts";
import { createNoticeAgainRoute, createNoticesRoute, createPlaceTestRoute } from "./notices.ts";
import {
  createPlaceAdditionRoute,
  createPlaceChangeRoute,
  createPlaceRemovalRoute,
  createPlacesRoute,
  createSecretRotationRoute,
} from "./places.ts";

/** What the routes of places to tell do. */
export function createNoticeHandlers(deps: AppDeps): Readonly<Record<keyof typeof NOTICE_ROUTES, RequestHandler>> {
  return {
    listPlaces: createPlacesRoute(deps),
    addPlace: createPlaceAdditionRoute(deps),
    changePlace: createPlaceChangeRoute(deps),
    removePlace: createPlaceRemovalRoute(deps),
    rotatePlaceSecret: createSecretRotationRoute(deps),
    testPlace: createPlaceTestRoute(deps),
    listNotices: createNoticesRoute(deps),
    sendNoticeAgain: createNoticeAgainRoute(deps),
  };
}
