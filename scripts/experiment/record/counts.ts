import type { FindingName } from './findings.ts';

/** What is counted of a run under load, whatever was done to the cluster meanwhile. Delays are milliseconds. */
export interface Counts {
  readonly requests: number;
  readonly lostEvents: number;
  readonly doubledWrites: number;
  readonly longestEventDelay: number;
  readonly findings: Readonly<Record<FindingName, number>>;
}
