import { expect, test } from "@jest/globals";
import {
  buildForkFilter,
  buildSeccompFilter,
  SECCOMP_ARCHITECTURES,
  type SeccompArchitecture,
} from "../../sandbox/seccomp.ts";

const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7 };
const ALLOW = "allow";
const results = new Map([
  [0x7fff0000, ALLOW],
  [0x80000000, "kill"],
  [0x00050000, "nothing done"],
  [0x00050001, "EPERM"],
  [0x00050026, "ENOSYS"],
  [0x00050061, "EAFNOSUPPORT"],
]);

/** What the kernel would answer: a machine for the four instructions that the filter uses. */
function evaluate(
  filter: Buffer,
  call: { architecture: number; number: number; arguments?: readonly number[] },
): string {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number >>> 0, 0);
  data.writeUInt32LE(call.architecture, 4);
  for (const [index, value] of (call.arguments ?? []).entries())
    data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), 16 + 8 * index);
  let accumulator = 0;
  for (let at = 0; at < filter.length / 8; ) {
    const code = filter.readUInt16LE(at * 8);
    const operand = filter.readUInt32LE(at * 8 + 4);
    if (code === 0x06) return results.get(operand) ?? `unknown ${operand}`;
    let holds = true;
    if (code === 0x20) accumulator = data.readUInt32LE(operand);
    else if (code === 0x15) holds = accumulator === operand;
    else if (code === 0x35) holds = accumulator >= operand;
    else if (code === 0x45) holds = (accumulator & operand) !== 0;
    else throw new Error(`The filter holds an instruction this test does not know: ${code}.`);
    at += 1 + (code === 0x20 ? 0 : filter.readUInt8(at * 8 + (holds ? 2 : 3)));
  }
  throw new Error("The filter ran past its end.");
}

const NUMBERS = {
  x64: {
    read: 0,
    mount: 165,
    ptrace: 101,
    clone: 56,
    clone3: 435,
    socket: 41,
    socketpair: 53,
    ioctl: 16,
    prctl: 157,
    personality: 135,
    memfd: 319,
    bpf: 321,
    uring: 425,
    fcntl: 72,
    setsockopt: 54,
    io_setup: 206,
  },
  arm64: {
    read: 63,
    mount: 40,
    ptrace: 117,
    clone: 220,
    clone3: 435,
    socket: 198,
    socketpair: 199,
    ioctl: 29,
    prctl: 167,
    personality: 92,
    memfd: 279,
    bpf: 280,
    uring: 425,
    fcntl: 25,
    setsockopt: 208,
    io_setup: 0,
  },
};

test.each(SECCOMP_ARCHITECTURES)(
  "filter, on %s, decides every call as planned",
  (architecture: SeccompArchitecture) => {
    const filter = buildSeccompFilter(architecture, { countsMemory: true });
    const ask = (name: keyof (typeof NUMBERS)["x64"], ...values: number[]) =>
      evaluate(filter, { architecture: AUDIT[architecture], number: NUMBERS[architecture][name], arguments: values });
    expect(ask("read")).toBe(ALLOW);
    expect([ask("mount"), ask("ptrace"), ask("bpf")]).toEqual(["EPERM", "EPERM", "EPERM"]);
    expect([ask("clone3"), ask("uring"), ask("io_setup")]).toEqual(["ENOSYS", "ENOSYS", "ENOSYS"]);
    expect([1024, 1024 + 2 ** 32, 1026].map((command) => ask("fcntl", 0, command))).toEqual(Array(3).fill("EPERM"));
    expect([0, 1, 4, 6, 8, 1025, 1030, 1031].map((command) => ask("fcntl", 0, command))).toEqual(Array(8).fill(ALLOW));
    expect([ask("clone", 17), ask("clone", 0x3d0f00)]).toEqual([ALLOW, ALLOW]);
    for (const bit of [0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000])
      expect(ask("clone", bit | 17)).toBe("EPERM");
    expect([
      ask("socket", 1, 1, 0),
      ask("socket", 2, 1, 6),
      ask("socket", 10, 2, 17),
      ask("socket", 2, 1, 0),
      ask("socket", 16, 3, 0),
    ]).toEqual(Array(5).fill(ALLOW));
    for (const [family, protocol] of [
      [40, 0],
      [38, 0],
      [17, 0],
      [2, 1],
      [2, 132],
      [2, 262],
      [10, 255],
      [16, 12],
      [16, 6],
    ] as const) {
      expect(ask("socket", family, 1, protocol)).toBe("EAFNOSUPPORT");
    }
    expect([ask("socketpair", 1), ask("socketpair", 40)]).toEqual([ALLOW, "EAFNOSUPPORT"]);
    expect([
      ask("ioctl", 0, 0x5401),
      ask("ioctl", 0, 0x5412),
      ask("ioctl", 0, 0x5412 + 2 ** 32),
      ask("ioctl", 0, 0x541c),
    ]).toEqual([ALLOW, "EPERM", "EPERM", "EPERM"]);
    expect([ask("personality", 0), ask("personality", 0xffffffff), ask("personality", 0x40000)]).toEqual([
      ALLOW,
      ALLOW,
      "EPERM",
    ]);
    expect([ask("prctl", 15), ask("prctl", 35)]).toEqual([ALLOW, "EPERM"]);
    expect(ask("memfd")).toBe(ALLOW);
  },
);

test("filter, for another architecture's call or a call nobody knows yet, closes it", () => {
  const filter = buildSeccompFilter("x64", { countsMemory: true });
  expect(evaluate(filter, { architecture: 0x40000003, number: 0 })).toBe("kill");
  expect(evaluate(filter, { architecture: AUDIT.x64, number: 0x40000000 + 1 })).toBe("ENOSYS");
  expect(evaluate(filter, { architecture: AUDIT.x64, number: 451 })).toBe("ENOSYS");
  expect(evaluate(filter, { architecture: AUDIT.x64, number: 450 })).toBe("EPERM");
});

test("filter, where no cgroup counts memory, closes memfd_create and leaves sockets and pipes the size that they have", () => {
  const filter = buildSeccompFilter("x64", { countsMemory: false });
  const ask = (number: number, ...given: number[]) =>
    evaluate(filter, { architecture: AUDIT.x64, number, arguments: given });
  const { setsockopt, fcntl } = NUMBERS.x64;
  expect([7, 8, 32, 33].map((option) => ask(setsockopt, 3, 1, option))).toEqual(Array(4).fill("nothing done"));
  expect([ask(setsockopt, 3, 1, 9), ask(setsockopt, 3, 6, 7), ask(fcntl, 3, 1031)]).toEqual([ALLOW, ALLOW, "EPERM"]);
  expect(evaluate(filter, { architecture: AUDIT.x64, number: NUMBERS.x64.memfd })).toBe("ENOSYS");
});

test.each(SECCOMP_ARCHITECTURES)(
  "filters, on %s, of a zygote and of its fork together, decide as that of user code does",
  (architecture: SeccompArchitecture) => {
    const calls = [...Array(470).keys(), 0x40000000 + 5, 0x7fffffff];
    const flags = [
      0,
      6,
      7,
      0xe,
      0x11,
      0x1000,
      0x1027,
      0x20011,
      0x3c020011,
      0x7c020011,
      0x10000011,
      2 ** 32 + 0x20000,
      1024,
    ];
    for (const [countsMemory, forkNetworks] of [
      [true, false],
      [false, false],
      [true, true],
    ] as const) {
      const plain = buildSeccompFilter(architecture, { countsMemory });
      const zygote = buildSeccompFilter(architecture, { countsMemory, forks: true, forkNetworks });
      const fork = buildForkFilter(architecture);
      const apart: string[] = [];
      for (const arch of [AUDIT[architecture], 0x40000003]) {
        for (const number of calls) {
          for (const flag of flags) {
            const call = { architecture: arch, number, arguments: [flag, flag, flag, flag, flag, flag] };
            const [wanted, first, second] = [plain, zygote, fork].map((filter) => evaluate(filter, call));
            const both = first === ALLOW ? second : second === ALLOW || second === first ? first : "two answers";
            if (both !== wanted) apart.push(`${number} with ${flag}: ${both} and not ${wanted}`);
          }
        }
      }
      expect(apart).toEqual([]);
      const { mount, clone } = NUMBERS[architecture];
      const [own, other] = forkNetworks ? [0x7c020011, 0x3c020011] : [0x3c020011, 0x7c020011];
      const asks = [
        { number: mount, arguments: [0, 0, 0, 0x1000], answer: ALLOW },
        { number: clone, arguments: [own], answer: ALLOW },
        { number: clone, arguments: [other], answer: "EPERM" },
      ];
      for (const { answer, ...ask } of asks) {
        const call = { architecture: AUDIT[architecture], ...ask };
        expect([evaluate(zygote, call), evaluate(fork, call)]).toEqual([answer, "EPERM"]);
      }
    }
  },
);
