import type { TlsCredentials } from '../../../test/support/clients/tls-request.ts';
import { type Loop, startLoop, Tally } from '../loops/loop.ts';
import { createConfigMap, isEnforced } from '../loops/policy-writes.ts';
import type { Way } from './ways.ts';

/** Milliseconds. */
const pause = 40;

/**
 * Knowledge of the policy in the version that most servers have; the other two: as that version turns to one that knows
 * it, or does not.
 */
export type Enforcement = 'off' | 'turning on' | 'on' | 'turning off';

export interface MutatedCounts {
  writes: number;
  mutated: number;
  /** Writes that evaded the policy: stored unmutated while it was on, or after one had been mutated. */
  evaded: number;
  /** Writes that were mutated while it was off, or after one had not been. */
  early: number;
  /** Writes that were not stored, by code. */
  readonly others: Tally;
}

export interface MutatedLoop extends Loop {
  readonly counts: MutatedCounts;
  expect(enforcement: Enforcement): void;
}

/** Creates one ConfigMap after the other, each by another of the ways in, once there is a policy. */
export function startMutatedLoop(
  { origins, agent }: Way,
  hasPolicy: () => boolean,
  namespace: string,
  credentials: TlsCredentials,
  prefix: string,
  onFault: (what: string) => void,
): MutatedLoop {
  const counts: MutatedCounts = { writes: 0, mutated: 0, evaded: 0, early: 0, others: new Tally() };
  let enforcement: Enforcement = 'off';
  function count(isMutated: boolean, expected: Enforcement, way: number): void {
    if (isMutated) counts.mutated++;
    // Begun before it began to turn, or after it: either is right.
    if (expected !== enforcement) return;
    if (enforcement === 'turning on') enforcement = isMutated ? 'on' : enforcement;
    else if (enforcement === 'turning off') enforcement = isMutated ? enforcement : 'off';
    else if (isMutated !== (enforcement === 'on')) {
      counts[isMutated ? 'early' : 'evaded']++;
      onFault(`${isMutated ? 'mutated' : 'not mutated'} through ${way}, while the policy is ${enforcement}`);
    }
  }
  const loop = startLoop(pause, async (number) => {
    if (!hasPolicy()) return;
    const way = Math.floor(Math.random() * origins.length);
    const expected = enforcement;
    try {
      const name = `${prefix}-${number}`;
      const response = await createConfigMap(origins[way] ?? '', namespace, credentials, name, agent);
      counts.writes++;
      const isMutated = isEnforced(response);
      if (response.statusCode !== 201 && !isMutated) counts.others.note(`${response.statusCode} POST`);
      else count(isMutated, expected, way);
    } catch (error) {
      counts.others.noteBroken(error, 'POST');
    }
  });
  return {
    ...loop,
    counts,
    expect(next) {
      enforcement = next;
    },
  };
}
