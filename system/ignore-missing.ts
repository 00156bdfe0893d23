/** Returns undefined for the error of a file or folder that is not there, and throws any other. For `catch`. */
export function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
