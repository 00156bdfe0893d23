import { z } from "zod";
import { ReadableText, Time } from "./fields.ts";
import { TOKEN_NAME_CHARACTERS_MAX } from "./people.ts";

const CODE_CHARACTERS_MAX = 200;
const Code = z.string().max(CODE_CHARACTERS_MAX);

export const NewDeviceCode = z.strictObject({
  name: ReadableText.trim().min(1).max(TOKEN_NAME_CHARACTERS_MAX).meta({
    description: "The computer that asks. The access token gets this name.",
  }),
});

export const DeviceCode = z.object({
  deviceCode: z.string().meta({ description: "For the program alone: with it the token is fetched." }),
  userCode: z.string().meta({ description: "For people: they compare it before they allow the sign-in." }),
  url: z.url().meta({ description: "The page on which a person who is signed in allows or refuses it." }),
  expiresAt: Time,
  intervalSeconds: z.int().min(1).meta({ description: "How long to wait between two requests for the token." }),
});

export const LookAtDeviceCode = z.strictObject({ userCode: Code });
export const DeviceToLetIn = z.object({
  name: z.string().meta({ description: "The computer that asks, as it calls itself." }),
  address: z.string().meta({ description: "The address that it asked from." }),
  createdAt: Time,
  expiresAt: Time,
  tokenDays: z.int().min(1).meta({ description: "For how long its access token will be good." }),
});

export const DeviceAnswer = z.strictObject({ userCode: Code, allow: z.boolean() });
export const AnsweredDevice = z.object({ name: z.string(), allowed: z.boolean() });

export const FetchDeviceToken = z.strictObject({ deviceCode: Code });
export const DeviceWaits = z.object({ status: z.literal("waiting"), intervalSeconds: z.int().min(1) });
