import type { S3Kind } from "../../bench/s3-programs.ts";

/**
 * The servers that tests of S3 run against: the strictest that is to be had beside one that keeps plain files. The long form has a
 * simulation, too, which takes nearly anything: `TREADLE_TEST_S3=all`.
 */
export const S3_KINDS: readonly S3Kind[] =
  process.env["TREADLE_TEST_S3"] === "all" ? ["versitygw", "minio", "moto"] : ["versitygw", "minio"];

/** Whether a server compares what arrives with what was signed, says when an upload began, and takes buckets in host names. */
export const isStrict = (kind: S3Kind): boolean => kind !== "moto";
