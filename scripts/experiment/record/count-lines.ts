import type { Counts } from './counts.ts';

/** A line of the tables: what must be zero behind a router of this project stands bold. */
type CountLine = readonly [title: string, value: (counts: Counts) => number];

export const countLines: readonly CountLine[] = [
  ['requests', ({ requests }) => requests],
  ['**wrong 404s**', ({ findings }) => findings.wrongNotFound],
  ['**reads answered with 5xx**', ({ findings }) => findings.readServerErrors],
  ['**reads that failed in the end**', ({ findings }) => findings.failedReads],
  ['**discovery errors**', ({ findings }) => findings.discoveryErrors],
  ['**watch events lost**', ({ lostEvents }) => lostEvents],
  ['**writes made twice**', ({ doubledWrites }) => doubledWrites],
  ['writes answered with 5xx', ({ findings }) => findings.writeServerErrors],
  ['writes without a response', ({ findings }) => findings.unknownWrites],
  ['execs that failed', ({ findings }) => findings.failedExecs],
  ['refused while no server had the resource', ({ findings }) => findings.refusedWithoutServer],
  ['reads asked again after a broken connection', ({ findings }) => findings.brokenReads],
  ['watches that broke', ({ findings }) => findings.brokenWatches],
  ['latest arrival of an event, ms', ({ longestEventDelay }) => longestEventDelay],
];

export function countRow([title, value]: CountLine, columns: readonly Counts[]): string[] {
  return [title, ...columns.map((counts) => value(counts).toLocaleString('en-US'))];
}
