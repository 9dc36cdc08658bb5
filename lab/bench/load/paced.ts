import { array, literal, minLength, number, object, parse, pipe, union } from 'valibot';
import { median } from '../../harness/statistics.ts';
import type { Workbench } from '../workbench.ts';
import type { Load, LoadFigures } from './load.ts';

const phaseSchema = object({ phase: union([literal('begin'), literal('end')]) });
const figuresSchema = object({
  requests: number(),
  failed: number(),
  windows: pipe(array(object({ p50: number(), p99: number() })), minLength(1)),
});

/**
 * Windows that the measured time is cut into: the latencies of a load are the medians of theirs. A machine that stands
 * still for some milliseconds now and then makes the slowest hundredth of one window, not of all.
 */
export const pacedWindows = 5;

/**
 * Our own generator for loads with a rate (rivals/go/paced.go). h2load has a timer of 10 ms or more for each connection
 * (`rps_watcher` in its source) and sends at once all that has become due: some 90 requests, as fast as they are
 * answered, and then nothing until the next tick. Its latencies at half of saturation are those at saturation.
 */
export function pacedArguments(load: Load & { readonly rate: number }, workbench: Workbench): string[] {
  const { protocol, connections, streams, warmUp, seconds, rate, url } = load;
  const { alice, clusterCa } = workbench.certificates;
  return [
    'paced',
    `-url=${url}`,
    `-rate=${rate}`,
    `-connections=${connections}`,
    `-streams=${protocol === 'http1' ? 0 : streams}`,
    `-warm-up=${Math.round(warmUp * 1_000)}ms`,
    `-duration=${Math.round(seconds * 1_000)}ms`,
    `-window=${Math.ceil((seconds * 1_000) / pacedWindows)}ms`,
    `-authority=${clusterCa}`,
    `-certificate=${alice.certificate}`,
    `-key=${alice.privateKey}`,
  ];
}

/** The end of a window that a line tells of; `undefined` for the last line. */
export function phaseOf(line: string): 'begin' | 'end' | undefined {
  const message: unknown = JSON.parse(line);
  return typeof message === 'object' && message !== null && 'phase' in message
    ? parse(phaseSchema, message).phase
    : undefined;
}

/**
 * Reads the generator's last line.
 * @throws when it is another.
 */
export function parsePaced(output: string, { seconds }: Pick<Load, 'seconds'>): LoadFigures {
  const told = parse(figuresSchema, JSON.parse(output.split('\n').at(-1) ?? ''));
  const { requests, failed } = told;
  const latency = {
    p50: median(told.windows.map(({ p50 }) => p50)),
    p99: median(told.windows.map(({ p99 }) => p99)),
  };
  return { requests, requestsPerSecond: requests / seconds, failed, latency };
}
