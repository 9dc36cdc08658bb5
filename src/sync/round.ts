import { describeIssues } from '../snapshot/issues.ts';
import { parseSnapshot } from '../snapshot/parse-snapshot.ts';
import type { Snapshot } from '../snapshot/types.ts';
import { buildSnapshot } from './build-snapshot.ts';
import type { ClusterObjects } from './cluster-objects.ts';
import { withDeadline } from './deadline.ts';
import type { RoundContext } from './round-context.ts';
import type { ServerReading } from './server-reading.ts';

export interface RoundOutcome {
  /** What is known after the round; `undefined` while nothing is known of any server. */
  readonly snapshot: Snapshot | undefined;
  /** Whether that is other content, with a new generation. */
  readonly changed: boolean;
  /** Latest reading of each server that has one. */
  readonly readings: ReadonlyMap<string, ServerReading>;
  readonly warnings: readonly string[];
}

/**
 * One round: reads what is due, and makes the snapshot of it. Delivers nothing.
 *
 * @param patience milliseconds that slow servers are waited for; `undefined` waits for all
 */
export async function runRound(
  { options, readers, sharedObjects }: RoundContext,
  previous: Snapshot | undefined,
  heldGeneration: number | undefined,
  patience: number | undefined,
  signal: AbortSignal,
): Promise<RoundOutcome> {
  const readings = await readers.round(signal, patience);
  const readable = options.servers.filter(
    ({ id }) => readings.get(id)?.ok === true && !readers.isUnderWay(id),
  );
  const clusterObjects = await withDeadline(
    options.timing.readTimeout,
    signal,
    () => new Error('too slow'),
    (deadline) =>
      sharedObjects.read(
        readings,
        readable.map(({ documents }) => documents),
        deadline,
      ),
  ).catch((error: unknown): ClusterObjects => unknownObjects(error));
  const output = await buildSnapshot({
    servers: options.servers,
    readings,
    clusterObjects,
    previous,
    heldGeneration,
    now: options.clock.now(),
    ...(options.snapshot === undefined ? {} : { options: options.snapshot }),
  });
  if (!output.changed) return { ...output, readings };
  const parsed = await parseSnapshot(output.snapshot);
  if (parsed.ok) return { snapshot: parsed.snapshot, changed: true, readings, warnings: output.warnings };
  const fault = `what was read makes no valid snapshot, so the last one stands: ${describeIssues(parsed.issues)}`;
  return { snapshot: previous, changed: false, readings, warnings: [...output.warnings, fault] };
}

function unknownObjects(error: unknown): ClusterObjects {
  const reason = error instanceof Error ? error.message : String(error);
  return {
    apiServices: undefined,
    customResourceGroups: undefined,
    warnings: [`what is known of APIServices and CustomResourceDefinitions stays as it was: ${reason}`],
  };
}
