import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { request as httpsRequest } from "node:https";
import { measureGrowth } from "./growth.ts";
import type { BenchService, Published } from "./service.ts";

const CHUNK = randomBytes(1024 * 1024);

/** Uploads one file of `mebibytes` to a workflow; answers how much the service's resident memory grew at most. */
export async function measureUpload(service: BenchService, sink: Published, mebibytes: number) {
  await upload(service, sink, 8);
  const { result, ...grown } = await measureGrowth(service.ready.pid, () => upload(service, sink, mebibytes));
  return { mebibytes, status: result, ...grown };
}

async function upload(service: BenchService, workflow: Published, mebibytes: number): Promise<number> {
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
