import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { request as httpsRequest } from "node:https";
import { setInterval as every } from "node:timers";
import { readResidentBytes } from "./processes.ts";
import type { BenchService } from "./service.ts";

const CHUNK = randomBytes(1024 * 1024);
const SAMPLE_MS = 50;

/** Uploads one file of `mebibytes` to a workflow; answers how much the service's resident memory grew at most. */
export async function measureUpload(service: BenchService, sink: Sink, mebibytes: number) {
  await upload(service, sink, 8);
  const before = await readResidentBytes(service.ready.pid);
  let most = before;
  const sampling = every(() => {
    void readResidentBytes(service.ready.pid).then((bytes) => {
      most = Math.max(most, bytes);
    });
  }, SAMPLE_MS);
  const startedAt = performance.now();
  const status = await upload(service, sink, mebibytes);
  clearInterval(sampling);
  const seconds = (performance.now() - startedAt) / 1000;
  return { mebibytes, status, seconds, grewMebibytes: (most - before) / 1024 ** 2 };
}

interface Sink {
  readonly workflowId: string;
  readonly apiKey: string;
}

async function upload(service: BenchService, workflow: Sink, mebibytes: number): Promise<number> {
  const boundary = `bench${Date.now()}`;
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="files"; filename="big.bin"\r\ncontent-type: application/octet-stream\r\n\r\n`;
  const ca = await readFile(service.ready.caFile);
  return new Promise((resolve, reject) => {
    const call = httpsRequest(`${service.ready.apiUrl}/workflows/${workflow.workflowId}/execute`, {
      method: "POST",
      ca,
      headers: { "x-api-key": workflow.apiKey, "content-type": `multipart/form-data; boundary=${boundary}` },
    });
    call.on("response", (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
    });
    call.on("error", reject);
    call.write(head);
    let left = mebibytes;
    const send = (): void => {
      while (left > 0) {
        left -= 1;
        if (!call.write(CHUNK)) {
          call.once("drain", send);
          return;
        }
      }
      call.end(`\r\n--${boundary}--\r\n`);
    };
    send();
  });
}
