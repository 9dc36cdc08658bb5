import { readdir } from 'node:fs/promises';
import { count } from '../../dashboard/wording/display-names.ts';
import { errorMessage, fileErrorMessage } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { SyncLoop } from '../../sync/sync-loop.ts';
import type { SyncOnceResult } from '../../sync/sync-once.ts';
import { type Command, helpHint } from '../terminal/command.ts';
import { type CommandContext, CommandFailure, type ExitCode } from '../terminal/command-context.ts';
import type { LiveSync, OfflineSync, SyncFlags } from './plan-sync.ts';
import { syncFlags } from './sync-settings.ts';

export const syncCommand: Command = {
  description:
    'Read what the API servers of a cluster serve, make a signed snapshot of it, and push it to the routers.',
  examples: [
    {
      comment: 'Keep two routers up to date.',
      line: [
        'sync --server cp-a=https://10.0.0.1:6443',
        '--server cp-b=https://10.0.0.2:6443 --peer-ca-file ca.crt',
        '--client-cert-file sync.crt --client-key-file sync.key',
        '--target https://10.0.0.1:7443 --target https://10.0.0.2:7443',
        '--signing-key snapshot-signing-key.json',
      ],
    },
    {
      comment: 'The same, with the API servers found through the cluster itself.',
      line: [
        'sync --kubeconfig sync.kubeconfig',
        '--target https://10.0.0.1:7443 --target https://10.0.0.2:7443',
        '--signing-key snapshot-signing-key.json',
      ],
    },
    {
      comment: 'The same, with all of it in a file.',
      line: 'sync --config sync.yaml',
    },
    {
      comment: 'Record a cluster, for a bug report or doctor --upgrade-to.',
      line: 'sync --kubeconfig admin.conf --record recording',
    },
    {
      comment: 'A snapshot of recorded responses, offline, to look at with explain.',
      line: ['sync --from test/fixtures/kubernetes-1.25-1.26', '--out snapshot.json --unsigned'],
    },
  ],
  flags: [syncFlags],
  run(given, context) {
    if (given.issues.length > 0) throw new CommandFailure(2, given.issues, { hint: helpHint });
    return runSyncCommand(given.flags, context);
  },
};

async function runSyncCommand(given: SyncFlags, context: CommandContext): Promise<ExitCode> {
  const { readSyncInput } = await import('./plan-sync.ts');
  const { createLineLogger } = await import('../../node/logging/line-logger.ts');
  const { plan, logging, snapshotKeys: path } = readSyncInput(given, context);
  const logger = createLineLogger(logging, context.writeError);
  if (plan.kind === 'offline') return syncOffline(plan, context);
  const { readSnapshotKeysInput } = await import('../snapshot/snapshot-input.ts');
  const snapshotKeys = path === undefined ? undefined : await readSnapshotKeysInput(context, path);
  return syncLive({ ...plan, options: { ...plan.options, snapshotKeys, logger } }, logger, context);
}

async function syncOffline(plan: OfflineSync, context: CommandContext): Promise<ExitCode> {
  const { snapshotFromFolder } = await import('../../sync/node/recording.ts');
  const { folder, options } = plan;
  const { snapshot, warnings, readings, deliveries } = await snapshotFromFolder(folder, options).catch(
    (cause: unknown) => {
      // A folder that is not one: called wrongly, as with any other file that a flag names.
      const isOfSystem = cause instanceof Error && 'syscall' in cause;
      const reason = isOfSystem ? `cannot read ${folder}: ${fileErrorMessage(cause)}` : errorMessage(cause);
      throw new CommandFailure(2, [`--from: ${reason}`], { cause });
    },
  );
  for (const warning of warnings) context.writeError(`warning: ${warning}\n`);
  if (snapshot === undefined) throw new CommandFailure(1, [`${folder} holds no server that can be read`]);
  const { metadata, servers } = snapshot;
  for (const { target, result } of deliveries) {
    if (result.kind !== 'accepted') throw new CommandFailure(1, [`${target}: ${result.message}`]);
    context.writeError(
      `wrote ${target}: generation ${metadata.generation} with ${count(servers.length, 'server')}\n`,
    );
  }
  // Readable servers are written all the same: a bug report may well be about the server that cannot be read.
  return reportUnread(readings, context) ? 1 : 0;
}

function reportUnread(readings: SyncOnceResult['readings'], context: CommandContext): boolean {
  const unread = [...readings].flatMap(([id, reading]) => (reading.ok ? [] : [[id, reading.reason]]));
  for (const [id, reason] of unread) context.writeError(`error: server ${id} could not be read: ${reason}\n`);
  return unread.length > 0;
}

async function syncLive(plan: LiveSync, logger: Logger, context: CommandContext): Promise<ExitCode> {
  const { runSync, syncOnce } = await import('../../sync/node/run-sync.ts');
  const { SyncOptionsError } = await import('../../sync/node/sync-options.ts');
  const { ClusterAccessError, loadClusterAccess } = await import('../../node/credentials/cluster-access.ts');
  const stop = new AbortController();
  void context.shutdownSignal().then((signal) => {
    logger.info({ signal }, 'Shutting down');
    stop.abort();
  });
  try {
    if (plan.once) return await reportOnce(await syncOnce(plan.options, stop.signal), plan, context);
    // Whatever is wrong with the kubeconfig itself is found before anybody is listened to.
    if (plan.options.kubernetes !== undefined) await loadClusterAccess(plan.options.kubernetes);
    const { options, onStart, close } = await withEndpoints(plan, logger);
    try {
      await runSync(options, stop.signal, onStart);
    } finally {
      await close();
    }
    return 0;
  } catch (cause) {
    // Work that an ordered stop cuts off is no failure.
    if (stop.signal.aborted && !plan.once) return 0;
    // Configured wrongly, not failed while running: a supervisor need not try again.
    if (cause instanceof SyncOptionsError) throw new CommandFailure(2, [errorMessage(cause)], { cause });
    if (cause instanceof ClusterAccessError)
      throw new CommandFailure(2, [`${clusterFlag(plan)}: ${errorMessage(cause)}`], { cause });
    throw new CommandFailure(1, [errorMessage(cause)], { cause });
  }
}

function clusterFlag({ options: { kubernetes } }: LiveSync): string {
  return kubernetes !== undefined && 'inCluster' in kubernetes ? '--in-cluster' : '--kubeconfig';
}

/** With the process's own endpoints, opened before anything is asked: a kubelet probes from the start. */
async function withEndpoints({ options, endpoints }: LiveSync, logger: Logger) {
  if (endpoints === undefined) return { options, onStart: () => {}, close: async () => {} };
  const { createSyncMetrics, startProcessEndpoints } = await import('./process-endpoints.ts');
  const metrics = createSyncMetrics();
  let loop: SyncLoop | undefined;
  const status = () => loop?.status();
  const { origin, close } = await startProcessEndpoints({ ...endpoints, metrics, status, logger });
  logger.info({ origin }, 'Health and metrics');
  return {
    options: { ...options, observer: metrics },
    onStart(started: SyncLoop) {
      loop = started;
    },
    close,
  };
}

async function reportOnce(
  result: SyncOnceResult,
  { options: { record } }: LiveSync,
  context: CommandContext,
): Promise<ExitCode> {
  for (const warning of result.warnings) context.writeError(`warning: ${warning}\n`);
  for (const { target, result: delivery } of result.deliveries) {
    const outcome = delivery.kind === 'accepted' ? 'accepted' : `${delivery.kind}: ${delivery.message}`;
    context.writeError(`${target}: ${outcome}\n`);
  }
  if (record !== undefined) {
    reportUnread(result.readings, context);
    const entries = await readdir(record, { recursive: true, withFileTypes: true });
    const files = count(entries.filter((entry) => entry.isFile()).length, 'file');
    context.writeError(`wrote ${files} to ${record}\n`);
  } else if (result.snapshot === undefined)
    context.writeError('error: no server could be read: nothing was made or sent\n');
  return result.ok ? 0 : 1;
}
