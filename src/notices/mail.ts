import type { MailSettings } from "../config.ts";
import type { Delivery } from "./receivers.ts";

/** Of each step of a conversation with the server. */
const STEP_MS = 10_000;
/** What a server answers for good is from here on: it refuses this receiver. https://www.rfc-editor.org/rfc/rfc5321#section-4.2.1 */
const REFUSED_FROM = 500;
const ANSWER_CHARACTERS_KEPT = 500;

/** A mail to one address. */
export interface Mail {
  /** Of the notice: each try has the same. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export type SendMail = (mail: Mail) => Promise<Delivery>;

/** Returns what hands mails to the operator's server. A password is sent over TLS alone. */
export function createSendMail({ url, from }: MailSettings): SendMail {
  const { protocol, hostname, port, username, password } = new URL(url);
  // Loaded where there is a mail server, and not at each start elsewhere.
  const opening = import("nodemailer").then(({ createTransport }) =>
    createTransport({
      host: hostname.replace(/^\[(.*)\]$/, "$1"),
      ...(port === "" ? {} : { port: Number(port) }),
      secure: protocol === "smtps:",
      requireTLS: username !== "",
      ...(username === "" ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
      connectionTimeout: STEP_MS,
      greetingTimeout: STEP_MS,
      socketTimeout: STEP_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    }),
  );
  return async ({ id, to, subject, text }) => {
    try {
      const { response } = await (await opening).sendMail({
        from,
        to: { name: "", address: to },
        subject,
        text,
        messageId: `<${id}@treadle>`,
        headers: { "Auto-Submitted": "auto-generated" },
      });
      return { kind: "delivered", answer: toAnswer(response) };
    } catch (error) {
      return explainFailure(error);
    }
  };
}

/** What is for good is about the receiver alone. A refused sign-in is the operator's to mend, and tried again. */
function explainFailure(error: unknown): Delivery {
  const {
    code,
    responseCode = 0,
    response,
    message,
  } = error as Error & {
    readonly code?: string;
    readonly responseCode?: number;
    readonly response?: string;
  };
  const answer = toAnswer(response ?? message);
  if (code === "EAUTH") return { kind: "failed", answer: `The mail server refused the sign-in: ${answer}` };
  return { kind: code === "EENVELOPE" && responseCode >= REFUSED_FROM ? "refused" : "failed", answer };
}

function toAnswer(text: string): string {
  return text.replaceAll("\0", "").slice(0, ANSWER_CHARACTERS_KEPT);
}
