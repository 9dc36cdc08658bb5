import type { Load, LoadFigures } from './load.ts';

/** A new connection, and so a new TLS handshake, for each request. */
export function wrkArguments({ connections, seconds, url }: Load): string[] {
  return [
    '--threads=1',
    `--connections=${connections}`,
    // wrk takes whole seconds only.
    `--duration=${Math.ceil(seconds)}s`,
    '--header=Connection: close',
    url,
  ];
}

/**
 * Reads what wrk (4.1) prints at its end.
 * @throws when the output is another.
 */
export function parseWrk(output: string): LoadFigures {
  const requests = /^\s*(\d+) requests in /m.exec(output);
  const rate = /^Requests\/sec:\s+([\d.]+)$/m.exec(output);
  if (requests === null || rate === null) {
    throw new Error(`wrk did not say what it has measured:\n${output.slice(-2_000)}`);
  }
  const refused = Number(/^\s*Non-2xx or 3xx responses: (\d+)$/m.exec(output)?.[1] ?? 0);
  const errors = /^\s*Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)$/m.exec(output);
  const broken = (errors?.slice(1) ?? []).reduce((total, count) => total + Number(count), 0);
  return { requests: Number(requests[1]), requestsPerSecond: Number(rate[1]), failed: refused + broken };
}
