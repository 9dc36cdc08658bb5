import { describeIssues } from '../../snapshot/format/issues.ts';
import { parseSnapshot } from '../../snapshot/format/parse-snapshot.ts';
import type { ServerReading } from '../servers/server-reading.ts';
import { buildSnapshot, type SnapshotInput, type SnapshotOutput } from './build-snapshot.ts';

export interface ValidSnapshotOutput extends SnapshotOutput {
  /** Those of the input; a failure for each server that cannot be in a snapshot with what it serves. */
  readonly readings: ReadonlyMap<string, ServerReading>;
}

/**
 * As `buildSnapshot`, and checked as routers check it: they refuse a snapshot with any error. What a server says is checked
 * where it is read; this is for the rest, such as more resources than any server has. A server that nothing valid can be
 * made of counts as one that could not be read, so that it does not stop the snapshot of all. Pure.
 */
export async function buildValidSnapshot(input: SnapshotInput): Promise<ValidSnapshotOutput> {
  const { readings, previous } = input;
  const output = await buildSnapshot(input);
  if (!output.changed) return { ...output, readings };
  const parsed = await parseSnapshot(output.snapshot);
  if (parsed.ok) return { ...output, snapshot: parsed.snapshot, readings };

  const acceptable = await withoutRefused(input);
  const rest = await buildSnapshot({ ...input, readings: acceptable });
  const parsedRest = rest.changed ? await parseSnapshot(rest.snapshot) : undefined;
  if (parsedRest?.ok === true) return { ...rest, snapshot: parsedRest.snapshot, readings: acceptable };
  if (rest.snapshot !== undefined && !rest.changed) return { ...rest, readings: acceptable };
  const issue = `the readings make no valid snapshot, so the last one is used: ${describeIssues(parsed.issues)}`;
  return { snapshot: previous, changed: false, warnings: [...output.warnings, issue], readings };
}

/** The readings, each by itself. */
async function withoutRefused(input: SnapshotInput): Promise<ReadonlyMap<string, ServerReading>> {
  const readings = new Map(input.readings);
  for (const server of input.servers) {
    if (readings.get(server.id)?.ok !== true) continue;
    const { snapshot } = await buildSnapshot({ ...input, servers: [server], previous: undefined });
    const parsed = await parseSnapshot(snapshot);
    if (parsed.ok) continue;
    const reason = `routers would refuse a snapshot with what it says: ${describeIssues(parsed.issues)}`;
    readings.set(server.id, { ok: false, code: 'InvalidDocument', reason });
  }
  return readings;
}
