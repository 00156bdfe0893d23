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

test.each([
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
