/**
 * A sandbox binds input files straight from the storage of this machine, and where the service is root the sandbox has another uid. So
 * anyone who gets this far can read objects and enter their folders. The folder above (the data directory, never listable by
 * others) decides who does.
 */
export const OBJECT_MODE = 0o644;
export const FOLDER_MODE = 0o755;

/** How often a folder may be removed by a concurrent delete between our making it and our renaming into it. */
export const PLACE_ATTEMPTS_MAX = 10;
