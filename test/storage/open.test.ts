import { expect, test } from "@jest/globals";
import { openStorage, parseStorageUrl } from "../../storage/open.ts";

test("parseStorageUrl, of a bucket alone, means Amazon's own server", () => {
  expect(parseStorageUrl("s3://treadle-files")).toEqual({
    bucket: "treadle-files",
    prefix: "",
    region: "us-east-1",
    endpoint: undefined,
    forcePathStyle: false,
  });
});

test("parseStorageUrl, of everything, takes everything, and path style wherever there is an endpoint", () => {
  const url = "s3://treadle-files/prod/eu/?region=eu-central-1&endpoint=http://objects:7070";
  const settings = {
    bucket: "treadle-files",
    prefix: "prod/eu",
    region: "eu-central-1",
    endpoint: "http://objects:7070",
    forcePathStyle: true,
  };
  expect(parseStorageUrl(url)).toEqual(settings);
  expect(parseStorageUrl(`${url}&path_style=false`)).toEqual({ ...settings, forcePathStyle: false });
});

test("parseStorageUrl, of addresses for uploads and of encryption, takes them", () => {
  const url = "s3://treadle-files?upload_endpoint=https://files.example.com&encryption=aws:kms&kms_key=alias/files";
  expect(parseStorageUrl(url)).toMatchObject({
    uploadEndpoint: "https://files.example.com",
    encryption: "aws:kms",
    kmsKey: "alias/files",
  });
  expect(parseStorageUrl("s3://treadle-files?encryption=AES256")).toMatchObject({ encryption: "AES256" });
  expect(parseStorageUrl("s3://treadle-files?upload_endpoint=http://127.0.0.1:7070")).toMatchObject({
    uploadEndpoint: "http://127.0.0.1:7070",
  });
});

test.each([
  ["s3://bucket?upload_endpoint=http://objects:7070", "has an upload_endpoint"],
  ["s3://bucket?upload_endpoint=objects", "has an upload_endpoint"],
  ["s3://bucket?encryption=none", "has an encryption"],
  ["s3://bucket?encryption=AES256&kms_key=a", "has a kms_key"],
  ["https://bucket/prefix", "is not an s3: URL"],
  ["bucket", "is not an s3: URL"],
  ["s3://Secret_Bucket", "names no valid bucket"],
  ["s3://ab", "names no valid bucket"],
  ["s3://bucket:80", "names no valid bucket"],
  ["s3://bucket?regoin=eu", "has an unknown option"],
  ["s3://bucket?endpoint=objects:7070", "has an endpoint that is not"],
  ["s3://bucket?path_style=yes", "has a path_style"],
])("parseStorageUrl, of %s, %s", (url, problem) => {
  expect(() => parseStorageUrl(url)).toThrow(problem);
});

test("parseStorageUrl, of a URL with credentials, refuses it and does not repeat them", () => {
  const refusal = () => parseStorageUrl("s3://AKIA123:hunter2@bucket");
  expect(refusal).toThrow("AWS_SECRET_ACCESS_KEY");
  expect(refusal).not.toThrow(/AKIA123|hunter2/);
});

test("openStorage, of a prefix that no key can have, refuses before anything is stored", async () => {
  await expect(openStorage({ url: "s3://bucket/a//b", dir: "unused" })).rejects.toBeInstanceOf(RangeError);
});
