import { access, constants } from "node:fs/promises";
import { buildInChild, findBuild } from "./build.mjs";
import { withCheckoutLock } from "./checkout-lock.mjs";
import { findPackages, installPackages } from "./packages.mjs";

/**
 * Brings the checkout to where the service can be imported from `dist`: packages installed as the lock file says, build
 * made of the sources as they are. Uses Node's own modules only, since nothing else may be there yet. Says nothing and
 * takes some 30 ms when there is nothing to do. Of several starts at once, one works and the others wait. A checkout
 * that cannot be written is used as it is. `development`: the packages for building and testing are needed as well.
 */
export async function prepareCheckout({ checkout, env, report, development = false }) {
  const look = async () => {
    const [packages, build] = [await findPackages(checkout), findBuild(checkout)];
    const enough = packages === "all" || (packages === "production" && build === "current" && !development);
    return { packages, build, mustInstall: !enough, mustBuild: build !== "current" };
  };
  const seen = await look();
  if (!seen.mustInstall && !seen.mustBuild) return;
  if (!(await isWritable(checkout))) return useAsItIs(checkout, seen, report);
  await withCheckoutLock({ checkout, report }, async () => {
    if ((await look()).mustInstall) await installPackages({ checkout, env, report });
    if ((await look()).mustBuild) await buildInChild({ checkout, env, report });
  });
}

function useAsItIs(checkout, { packages, build }, report) {
  if (packages === "none" || build === "none") {
    throw new Error(
      `${checkout} has ${packages === "none" ? "not the packages of its lock file" : "no build"}, and cannot be written by this user.\n` +
        `Start Treadle there once as a user who may write to it (npm start, or npm ci && npm run build), then again as this one.`,
    );
  }
  report(`${checkout} cannot be written; using the build that is there, although its sources have changed since.`);
}

function isWritable(checkout) {
  return access(checkout, constants.W_OK).then(
    () => true,
    () => false,
  );
}
