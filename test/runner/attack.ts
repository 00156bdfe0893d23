import { expect } from "@jest/globals";
import { type Bench, jsonOf, type Ran } from "./harness.ts";

/** What an attack program may call: `attempt(what, act)` notes whether something that must not work did. */
const PRELUDE = `
import ctypes, errno, json, os, signal, socket, struct, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
NR = NUMBERS
tried = {}

def attempt(what, act):
    try:
        tried[what] = "OK " + repr(act())[:200]
    except OSError as error:
        tried[what] = errno.errorcode.get(error.errno, type(error).__name__ + " " + str(error))
    except BaseException as error:
        tried[what] = type(error).__name__ + " " + str(error)[:100]

def call(name, *arguments):
    number = NR[name]
    if number is None:
        raise OSError(errno.ENOSYS, name)
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result

def connect(family, address, timeout=1.0):
    with socket.socket(family) as client:
        client.settimeout(timeout)
        client.connect(address)
        return client.recv(100)
`;

/** Numbers of the calls the attacks make, `[x64, arm64]`; independent of the table that the filter is made from. */
const CALLS: Readonly<Record<string, readonly [number | null, number | null]>> = {
  unshare: [272, 97],
  clone: [56, 220],
  clone3: [435, 435],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  move_mount: [429, 429],
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  pidfd_getfd: [438, 438],
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  kexec_load: [246, 104],
  init_module: [175, 105],
  personality: [135, 92],
  open_by_handle_at: [304, 265],
  future: [470, 470],
};

/** Runs an attack program; answers what each of its attempts came to. Fails when the program did not get to its end. */
export async function attack(
  bench: Bench,
  code: string,
  inputs: Readonly<Record<string, string | number>> = {},
): Promise<{ tried: Record<string, string>; ran: Ran }> {
  const index = process.arch === "x64" ? 0 : 1;
  const numbers = Object.entries(CALLS).map(([name, values]) => `"${name}": ${values[index] ?? "None"}`);
  const prelude = PRELUDE.replace("NUMBERS", `{${numbers.join(", ")}}`);
  const body = code.split("\n").map((line) => `    ${line}`);
  const ran = await bench.run({
    code: `${prelude}\ndef main(${Object.keys(inputs).join(", ")}):\n${body.join("\n")}\n    return {"tried": tried}\n`,
    inputs,
  });
  return { tried: jsonOf<Record<string, string>>(ran, "tried"), ran };
}

/** Every attempt failed, and there were some. */
export function expectAllRefused(tried: Readonly<Record<string, string>>): void {
  expect(Object.keys(tried).length).toBeGreaterThan(0);
  expect(Object.entries(tried).filter(([, result]) => result.startsWith("OK"))).toEqual([]);
}
