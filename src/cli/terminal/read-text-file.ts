import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';

/** Many times the largest file there is a use for: a snapshot of 50 servers stays under a megabyte. */
const longestFile = 256 * 1024 * 1024;

const chunkSize = 64 * 1024;

/**
 * Reads a file as UTF-8, pipes included (`--snapshot <(…)`), in bounded memory.
 * @throws when it cannot be read, or is longer than `limit` bytes
 */
export function readTextFile(path: string, limit: number = longestFile): string {
  const descriptor = openSync(path, 'r');
  try {
    const status = fstatSync(descriptor);
    if (status.isFile() && status.size > limit) throw tooLong(limit);
    return status.isFile() && status.size > 0
      ? readFileSync(descriptor, 'utf8')
      : readToTheEnd(descriptor, limit);
  } finally {
    closeSync(descriptor);
  }
}

/** Pipes, devices and the files of /proc do not say how long they are. */
function readToTheEnd(descriptor: number, limit: number): string {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const chunk = new Uint8Array(chunkSize);
    const count = readSync(descriptor, chunk);
    if (count === 0) return Buffer.concat(chunks).toString('utf8');
    length += count;
    if (length > limit) throw tooLong(limit);
    chunks.push(chunk.subarray(0, count));
  }
}

function tooLong(limit: number): RangeError {
  return new RangeError(`it is longer than ${limit} bytes: no file that is read here is`);
}
