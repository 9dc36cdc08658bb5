import type { Counts } from './counts.ts';

/** What must not happen behind a router of this project, and has. */
export function faultsOf({
  findings,
  lostEvents,
  doubledWrites,
}: Pick<Counts, 'findings' | 'lostEvents' | 'doubledWrites'>): string[] {
  const counted = {
    'wrong 404s': findings.wrongNotFound,
    'reads answered with 5xx': findings.readServerErrors,
    'reads that failed in the end': findings.failedReads,
    'discovery errors': findings.discoveryErrors,
    'lost events': lostEvents,
    'doubled writes': doubledWrites,
  };
  return Object.entries(counted)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what}`);
}
