import { z } from "zod";
import { EMAIL_CHARACTERS_MAX, PASSWORD_CHARACTERS_MAX } from "../members.ts";
import { AccountId, AlwaysTrue, StorableText, UserId } from "./fields.ts";
import { NamedRole } from "./people.ts";

const CODE_CHARACTERS_MAX = 200;

/** What signs a user in. The code is that of a link which the operator made for a user whose address strangers guess at. */
export const SignIn = z.object({
  email: StorableText.max(EMAIL_CHARACTERS_MAX),
  password: z.string().max(PASSWORD_CHARACTERS_MAX),
  code: z.string().max(CODE_CHARACTERS_MAX).optional(),
});

/** Who is signed in, and what of the service such a user needs to know. */
export const Session = z
  .object({
    email: z.string(),
    accountId: AccountId,
    accountName: z.string(),
    userId: UserId,
    role: NamedRole,
    seesHosts: z.boolean().meta({ description: "May look at the hosts of the installation." }),
    temporalUiUrl: z.string().nullable().meta({ description: "Where to look into Temporal." }),
    contact: z.string().nullable().meta({ description: "Whom to ask for credits." }),
  })
  .meta({ component: "Session" });

export const SignedOut = z.object({ signedOut: AlwaysTrue });
