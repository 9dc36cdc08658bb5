import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { durationText } from '../../runtime/duration-text.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { readSnapshotInput } from '../snapshot/snapshot-input.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import type { Finding } from './finding.ts';

export interface SnapshotFindings {
  readonly findings: readonly Finding[];
  /** What the stored snapshot says; `undefined` where there is none that can be used. */
  readonly table: RoutingTable | undefined;
}

const check = 'snapshot';

/**
 * Opens the stored snapshot as the router would at start. It is only read: what a running router is just writing
 * beside it stays alone.
 */
export async function snapshotFindings(
  { featureGateEnabled, serverId, snapshot, embeddedSync }: ServeConfig,
  context: CommandContext,
): Promise<SnapshotFindings> {
  const { file, keys } = snapshot;
  const only = (result: Finding['result'], message: string): SnapshotFindings => ({
    findings: [{ check, result, message }],
    table: undefined,
  });
  if (!featureGateEnabled) return only('ok', 'the feature gate is off: none is needed');
  if (file === undefined) {
    return only('warning', 'none is kept across restarts: set --snapshot-file');
  }
  try {
    const { table } = await readSnapshotInput(context, file, keys?.path);
    return { findings: [ageOf(table, context.clock()), ...placeOf(table, serverId)], table };
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    const isMissing = error.cause instanceof Error && 'code' in error.cause && error.cause.code === 'ENOENT';
    return isMissing
      ? only(
          'warning',
          embeddedSync === undefined
            ? `${file} is not there: the sync job has not pushed to this router yet`
            : `${file} is not there: the router has not read the cluster yet`,
        )
      : only('failed', `${error.lines.join('; ')}: the router would begin without a snapshot`);
  }
}

function ageOf({ generation, createdAt, expiresAt }: RoutingTable, now: number): Finding {
  const text = `generation ${generation}, ${durationText(now - createdAt)} old`;
  if (createdAt > now + 10_000) {
    return { check, result: 'warning', message: `${text}: it is from the future, compare the clocks` };
  }
  return expiresAt > now
    ? { check, result: 'ok', message: `${text}, for another ${durationText(expiresAt - now)}` }
    : {
        check,
        result: 'warning',
        message: `${text}, expired ${durationText(now - expiresAt)} ago: does the sync job run, and push here?`,
      };
}

function placeOf(table: RoutingTable, serverId: string | undefined): readonly Finding[] {
  if (serverId === undefined || table.server(serverId) !== undefined) return [];
  const known = table.servers.map(({ id }) => id).join(', ');
  const message = `it has no server ${serverId}: set --server-id to the one in front of which this router stands (${known})`;
  return [{ check, result: 'failed', message }];
}
