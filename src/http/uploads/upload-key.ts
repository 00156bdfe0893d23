import type { UploadId } from "../../../domain/ids.ts";

/** Where storage has an upload; its parts, too, begin with this key. */
export function uploadKey(id: UploadId): string {
  return `uploads/${id}/content`;
}
