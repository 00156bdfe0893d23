/** What jest does after the last file of a tier whose files share a service. */
export default async function endServiceLender() {
  await globalThis.treadleServiceLender?.close();
}
