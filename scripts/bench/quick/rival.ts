import { UsageError } from '../../harness/command-line.ts';
import type { ContenderName } from '../rivals/contender.ts';
import type { ThroughputResults } from '../throughput/results.ts';
import { quickWorkloads } from './conditions.ts';

/** The preferred first; each with the program that it needs. */
const rivals: readonly (readonly [ContenderName, string])[] = [
  ['go', 'go'],
  ['nginx', 'nginx'],
  ['haproxy', 'haproxy'],
];

/**
 * The proxy that the router is measured beside: the one that it was recorded beside; to record, the first that is
 * installed.
 * @throws {UsageError} when there is none.
 */
export function chooseRival(
  recorded: ThroughputResults['workloads'] | undefined,
  isInstalled: (program: string) => boolean,
): ContenderName {
  const usable = rivals.filter(([, program]) => isInstalled(program)).map(([name]) => name);
  if (recorded === undefined) {
    const [first] = usable;
    if (first !== undefined) return first;
    throw new UsageError('Install Go, nginx or HAProxy: there is nothing to compare with.');
  }
  const recordedBeside = rivals
    .map(([name]) => name)
    .filter((name) =>
      quickWorkloads.every((workload) =>
        recorded[workload]?.rounds.some(({ contenders }) => contenders[name] !== undefined),
      ),
    );
  const found = usable.find((name) => recordedBeside.includes(name));
  if (found !== undefined) return found;
  throw new UsageError(
    `Recorded beside ${recordedBeside.join(', ') || 'nothing'}, which is not installed here. ` +
      'npm run bench:quick -- --record records anew, beside Go, nginx or HAProxy.',
  );
}
