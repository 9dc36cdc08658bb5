import type { Load, LoadFigures } from './load.ts';

/** The lines between which h2load measures; what is read off the proxy's process is read then. */
export const h2loadPhases = {
  begin: 'Main benchmark duration is started',
  end: 'Main benchmark duration is over',
} as const;

export function h2loadArguments(load: Load): string[] {
  const { protocol, connections, streams, warmUp, seconds, bodyFile, url } = load;
  return [
    '--threads=1',
    `--clients=${connections}`,
    `--max-concurrent-streams=${streams}`,
    `--duration=${Math.round(seconds * 1000)}ms`,
    `--warm-up-time=${Math.round(warmUp * 1000)}ms`,
    ...(protocol === 'http1' ? ['--h1'] : []),
    ...(bodyFile === undefined ? [] : [`--data=${bodyFile}`]),
    url,
  ];
}

/**
 * Reads what h2load (1.52) prints at its end. Every line is about the time after the warm-up, but the codes: those
 * count what the warm-up has started, too. "Failed" are also answers without a reason phrase, which HTTP/1.1 allows
 * (RFC 9112 section 4) and h2load does not know: codes, not that count, say what went wrong.
 * @throws when the output is another.
 */
export function parseH2load(
  output: string,
  { seconds, responseBytes }: Pick<Load, 'seconds' | 'responseBytes'>,
): LoadFigures {
  const requests = /^requests: .* (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout$/m.exec(output);
  const codes = /^status codes: \d+ 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx$/m.exec(output);
  const traffic = /^traffic: \S+ \((\d+)\) total/m.exec(output);
  if (requests === null || codes === null || traffic === null) {
    throw new Error(`h2load did not say what it has measured:\n${output.slice(-2_000)}`);
  }
  const [succeeded = 0, failed = 0, ...broken] = requests.slice(1).map(Number);
  const answered = succeeded + failed - sum(broken);
  const counted = responseBytes === undefined ? answered : Number(traffic[1]) / responseBytes;
  return {
    requests: counted,
    requestsPerSecond: counted / seconds,
    failed: sum(broken) + sum(codes.slice(1).map(Number)),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
