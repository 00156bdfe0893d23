import type { S3Kind } from "../../bench/s3-programs.ts";

/** Whether to run the long form of what concerns S3. MinIO takes five minutes of a processor to build. */
export const IS_LONG = process.env["TREADLE_TEST_S3"] === "all";

/**
 * The servers that tests of S3 run against: one that keeps plain files. In the long form also the strictest that is to be had,
 * and a simulation, which takes nearly anything.
 */
export const S3_KINDS: readonly S3Kind[] = IS_LONG ? ["versitygw", "minio", "moto"] : ["versitygw"];

/** Whether a server compares what arrives with what was signed, says when an upload began, and takes buckets in host names. */
export const isStrict = (kind: S3Kind): boolean => kind !== "moto";
