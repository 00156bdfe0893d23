import {
  AddedDestination,
  DestinationList,
  NewDestination,
  RemovedDestination,
} from "../../../domain/api/destinations.ts";
import { DESTINATION_NAME } from "../../../domain/destinations.ts";
import { answerOf, bodyOf, IN_PERSON } from "./content.ts";
import { ACCOUNT, aPathId } from "./parameters.ts";
import type { Routes } from "./route.ts";

const NAME = aPathId(
  "name",
  { type: "string", pattern: DESTINATION_NAME.source, maxLength: 40 },
  "The name that manifests have for the destination.",
);
const OPERATOR = "For the operator's token alone: `account` names the account, or the first is meant.";
const EXAMPLE = { name: "warehouse", endpoint: "10.20.0.5:5432", createdAt: "2026-11-02T09:00:00.000Z" };
const USED_BY = [{ workflowId: "wf_0123456789abcdef", name: "Load the warehouse" }];

/** Private destinations that the operator grants to accounts. */
export const DESTINATION_ROUTES = {
  listDestinations: {
    method: "get",
    path: "/api/destinations",
    tag: "Account",
    summary: "The private destinations that programs of the account may connect to",
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    answers: {
      200: answerOf("By name.", DestinationList, {
        destinations: [
          { name: EXAMPLE.name, endpoint: EXAMPLE.endpoint, createdAt: EXAMPLE.createdAt, usedBy: USED_BY },
        ],
      }),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  addDestination: {
    method: "post",
    path: "/api/destinations",
    tag: "Account",
    summary: "Let programs of an account connect to a private destination",
    description: `\`limits.network.to\` of config.yaml names it. ${OPERATOR}`,
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    body: bodyOf(NewDestination, { name: EXAMPLE.name, endpoint: EXAMPLE.endpoint }),
    answers: { 201: answerOf("It is granted.", AddedDestination, EXAMPLE) },
    errors: ["unauthorized", "not_found", "conflict", "payload_too_large", "unsupported_media_type", "no_capacity"],
  },
  removeDestination: {
    method: "delete",
    path: "/api/destinations/{name}",
    tag: "Account",
    summary: "Take a destination away",
    description: `Programs that run have no connection there any more. ${OPERATOR}`,
    credentials: IN_PERSON,
    parameters: [NAME, ACCOUNT],
    answers: {
      200: answerOf(
        "It is gone. The workflows in `usedBy` do not run until they are published without it.",
        RemovedDestination,
        {
          name: EXAMPLE.name,
          removed: true,
          usedBy: USED_BY,
        },
      ),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
} satisfies Routes;
