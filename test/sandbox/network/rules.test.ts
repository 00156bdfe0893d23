import { existsSync } from "node:fs";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { NetworkSettings } from "../../../sandbox/network/network.ts";
import { PROGRAMS, type Service, startService, until, writeProgram } from "./bench.ts";
import { IS_ROOT, makeWorld, type World } from "./world.ts";

let world: World;
let service: Service | undefined;
let marks = 0;

beforeAll(async () => {
  world = await makeWorld(PROGRAMS);
});

afterEach(async () => {
  await service?.close();
});

afterAll(async () => {
  await world.close();
});

async function start(change: Partial<NetworkSettings>): Promise<Service> {
  service = await startService(world, IS_ROOT ? "stays" : "ordinary", change);
  return service;
}

/** An `nft` that changes the rules on their way; what it is asked it answers unchanged. */
function changeRules(script: string): NetworkSettings["programs"] {
  const nft = writeProgram(
    world,
    "nft",
    `case "$1" in -f) /usr/bin/sed -e '${script}' | ${PROGRAMS.nft} "$@";; *) exec ${PROGRAMS.nft} "$@";; esac`,
  );
  return { ...PROGRAMS, nft };
}

/** An uplink that leaves a mark: it must not be started before the rules are known to hold. */
function markUplink(): { programs: NetworkSettings["programs"]; isStarted: () => boolean } {
  const mark = `${world.dir}/uplink-${++marks}`;
  const slirp4netns = writeProgram(world, "slirp4netns", `echo > ${mark}; exec ${PROGRAMS.slirp4netns} "$@"`);
  return {
    programs: { ...PROGRAMS, slirp4netns },
    isStarted: () => existsSync(mark),
  };
}

test("createNetwork, when nft refuses the rules, has no network, no slot, no uplink and no process", async () => {
  const ip = writeProgram(world, "ip", `echo "$@" >> ${world.dir}/ip-log; exec ${PROGRAMS.ip} "$@"`);
  const { programs, isStarted } = markUplink();
  const { problem, take, listProcesses } = await start({
    programs: { ...changeRules("s/policy drop/policy dorp/"), slirp4netns: programs.slirp4netns, ip },
  });
  expect(problem).toMatch(/There is no network for executions: nft ended \(1\).*dorp/);
  await expect(take()).rejects.toThrow(/nft ended/);
  expect(isStarted()).toBe(false);
  expect(existsSync(`${world.dir}/ip-log`)).toBe(false); // Nothing was made.
  expect(listProcesses()).toEqual([]);
});

const HOLES: readonly (readonly [hole: string, change: string, found: RegExp])[] = [
  ["the denied ranges", "/ip daddr @denied/d", /10\.0\.0\.1:443 was not reset/],
  [
    "the metadata service alone",
    "s/@denied counter/!= 169.254.169.254 ip daddr @denied counter/",
    /169\.254\.169\.254:80 was not reset/,
  ],
  ["the own addresses", "/ip daddr @own/d", /203\.0\.113\.77:443 was not reset/],
  ["SMTP", "/tcp dport 25/d", /:25 was not reset/],
  ["other slots", "s/counter name sibling goto refuse/accept/", /240\.0\.0\.3:443 was not reset|rule "sibling"/],
  ["the router", "s/counter name router goto refuse/accept/", /rule "router"/],
  ["everything", "s/goto outbound/accept/", /was not reset/],
  ["that a link is confined", "/iifgroup 2 goto confined/d", /"elsewhere"|was not reset/],
  ["links without a scope", "/counter name elsewhere goto refuse/s/counter.*/accept/", /"elsewhere"|was not reset/],
  ["the ports of destinations", "s/ tcp dport { 443 } goto admitted/ goto admitted/", /:444 was not reset/],
  ["what is never granted", "/ip daddr @never/d", /rule "denied"/],
  ["other ports of the forwarder", "s/ th dport 53 goto names/ accept/", /10\.0\.2\.3:80 was not reset/],
  ["UDP", "s/chain outbound {/chain outbound { meta l4proto udp accept/", /packets had to reach the uplink/],
];

test.each(HOLES)(
  "the self-test, with rules that forget %s, finds it before there is an uplink",
  async (_hole, change, found) => {
    const { programs, isStarted } = markUplink();
    const { problem, take } = await start({ programs: { ...changeRules(change), slirp4netns: programs.slirp4netns } });
    expect(problem).toMatch(/The router's rules do not hold/);
    expect(problem).toMatch(found);
    await expect(take()).rejects.toThrow(/do not hold/);
    expect(isStarted()).toBe(false);
  },
);

test("the self-test, with rules that let nothing through, finds that, too", async () => {
  const { problem } = await start({ programs: changeRules("/^    accept$/d") });
  expect(problem).toMatch(/packets had to reach the uplink, and 0 did/);
});

test("the self-test, with rules as they are, lets the uplink be started", async () => {
  const { programs, isStarted } = markUplink();
  const { problem } = await start({ programs });
  expect(problem).toBeNull();
  expect(isStarted()).toBe(true);
});

test("createNetwork, after an attempt that failed, tries again and says when there is a network", async () => {
  const slirp4netns = writeProgram(
    world,
    "slirp4netns",
    `test -e ${world.dir}/good && exec ${PROGRAMS.slirp4netns} "$@"; echo "no such luck" >&2; exit 3`,
  );
  const { problem, readProblem, take, lines } = await start({ programs: { ...PROGRAMS, slirp4netns } });
  expect(problem).toMatch(/slirp4netns ended \(3\): no such luck/);
  writeProgram(world, "good", "");
  await until("there is a network", async () => (await readProblem()) === null);
  await expect(take()).resolves.toMatchObject({ slot: 0 });
  expect(lines).toEqual([problem, "Executions have a network again."]);
});
