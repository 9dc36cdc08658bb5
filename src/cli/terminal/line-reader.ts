/** One line of input, or why it cannot be read as one. */
export type InputLine =
  | { readonly number: number; readonly text: string }
  | { readonly number: number; readonly problem: string };

/** Longest line that is read: many times a request with its headers (64 KiB of them at most on any server). */
const longestLine = 1024 * 1024;

const newline = 0x0a;

/**
 * Reads UTF-8 lines out of chunks, all lines of a chunk at a time, in memory bounded by the longest line. A last
 * line without a newline counts.
 */
export async function* readLines(
  source: AsyncIterable<Uint8Array>,
  limit: number = longestLine,
): AsyncGenerator<readonly InputLine[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let pending: Uint8Array[] = [];
  let pendingBytes = 0;
  let number = 0;

  const keep = (part: Uint8Array): void => {
    pendingBytes += part.byteLength;
    // What is over the limit is counted and dropped.
    if (pendingBytes <= limit) pending.push(part);
    else pending = [];
  };
  const take = (): InputLine => {
    const bytes = pendingBytes;
    const parts = pending;
    pending = [];
    pendingBytes = 0;
    number += 1;
    if (bytes > limit) return { number, problem: `longer than ${limit} bytes` };
    try {
      return { number, text: decoder.decode(Buffer.concat(parts)) };
    } catch {
      return { number, problem: 'not UTF-8' };
    }
  };

  for await (const chunk of source) {
    const lines: InputLine[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      keep(chunk.subarray(start, end));
      lines.push(take());
      start = end + 1;
    }
    // A copy: a view would keep the whole chunk in memory.
    if (start < chunk.byteLength) keep(new Uint8Array(chunk.subarray(start)));
    if (lines.length > 0) yield lines;
  }
  if (pendingBytes > 0) yield [take()];
}
