/** What this process has had of processors, in milliseconds: unlike a clock it does not run while others have them. */
export function readProcessorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
