import type { Request, Response } from "express";

/** Returns the values that a request has for a cookie, in their order: a browser may send several of one name. */
export function readCookies(request: Request, name: string): string[] {
  return (request.get("cookie") ?? "").split(";").flatMap((pair) => {
    const [key = "", value = ""] = pair.split("=", 2);
    return key.trim() === name ? [value.trim()] : [];
  });
}

/** Sets a cookie that no script sees. With a lifetime of 0 the browser forgets it. */
export function setCookie(response: Response, name: string, value: string, lifetimeSeconds: number): void {
  response.append("Set-Cookie", `${name}=${value}; Path=/; Max-Age=${lifetimeSeconds}; Secure; HttpOnly; SameSite=Lax`);
}
