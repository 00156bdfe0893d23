import { GetObjectCommand, paginateListObjectsV2, S3Client } from "@aws-sdk/client-s3";
import { describeObject, type StoredObject } from "../evidence.ts";

export interface Bucket {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Environments that hosts share have no row that says which execution they are of. */
const SHARED = "environments/";

/** Every object by its key, read and hashed. */
export async function readBucket({
  bucket,
  endpoint,
  region,
  ...credentials
}: Bucket): Promise<Record<string, StoredObject>> {
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  const found: Record<string, StoredObject> = {};
  for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket: bucket }))
    for (const { Key = "" } of Contents) {
      if (Key.startsWith(SHARED)) continue;
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key }));
      found[Key] = describeObject(Buffer.from((await Body?.transformToByteArray()) ?? []));
    }
  client.destroy();
  return found;
}
