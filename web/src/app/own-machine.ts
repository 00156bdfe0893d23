/** Whether the page was opened by a name of the machine itself: then the service, and its files, are there. */
export function isOwnMachine(): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
}
