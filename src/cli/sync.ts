import { Option } from 'commander';
import { createPinoLogger } from '../node/pino-logger.ts';
import type { Logger } from '../observe/logger.ts';
import type { SyncLoop, SyncOnceResult } from '../sync/index.ts';
import type { CliCommand, ReportExitCode } from './cli-command.ts';
import { type CommandContext, CommandFailure, type ExitCode, messageOf } from './command-context.ts';
import { readSnapshotKeysInput } from './snapshot-keys-input.ts';
import { addSyncClusterOptions } from './sync-cluster-flags.ts';
import { type LiveSync, type OfflineSync, planSync, type RecordSync, type SyncFlags } from './sync-flags.ts';
import { addSyncProcessOptions } from './sync-process-flags.ts';
import { addSyncTargetOptions } from './sync-target-flags.ts';

export function registerSync(program: CliCommand, context: CommandContext, report: ReportExitCode): void {
  const collect = (value: string, previous: readonly string[] | undefined) => [...(previous ?? []), value];
  const command = program
    .command('sync')
    .helpGroup('Run:')
    .summary('Read what API servers serve, and push it to routers')
    .description(
      'Read what the API servers of a cluster serve, make a signed snapshot of it, and push it to the routers.',
    )
    .examples(
      {
        comment: 'Keep two routers up to date.',
        line: [
          'sync --server cp-a=https://10.0.0.1:6443 --server cp-b=https://10.0.0.2:6443 \\',
          '    --peer-ca-file ca.crt --client-cert-file sync.crt --client-key-file sync.key \\',
          '    --target https://10.0.0.1:7443 --target https://10.0.0.2:7443 --signing-key snapshot-signing-key.json',
        ].join('\n'),
      },
      {
        comment: 'The same, with the API servers found through the cluster itself.',
        line: [
          'sync --kubeconfig sync.kubeconfig --signing-key snapshot-signing-key.json \\',
          '    --target https://10.0.0.1:7443 --target https://10.0.0.2:7443',
        ].join('\n'),
      },
      {
        comment: 'A snapshot of recorded answers, offline, to look at with explain.',
        line: 'sync --from test/fixtures/kubernetes-1.25-1.26 --out snapshot.json --unsigned',
      },
    )
    .option(
      '--server <id=https://host:port>',
      'An API server to read, under the ID that routers know it by. Repeatable.',
      collect,
    )
    .option('--peer-ca-file <file>', "CA bundle that API servers' certificates are checked against.")
    .option('--client-cert-file <file>', 'Client certificate of the sync job, for API servers and routers.')
    .option('--client-key-file <file>', 'Private key for --client-cert-file.')
    .option('--signing-key <file>', 'Private key that keygen made.')
    .option(
      '--snapshot-keys <file>',
      "Public keys that an earlier run, or another sync job, may have signed with. Default: the signing key's own.",
    )
    .option('--state-file <file>', 'Where the last snapshot outlives the process.')
    .option('--out <file>', 'Write the snapshot to a file.')
    .option('--unsigned', 'Write the file as plain JSON, to look at.')
    .option('--from <directory>', 'Make the snapshot of recorded answers in place of running servers.')
    .option(
      '--record <directory>',
      'Save what is read, for a bug report and for --from; the directory must be empty.',
    )
    .option(
      '--once',
      'One round, then end: for CI and cron. Exit code 1 unless everything was read and delivered.',
    )
    .option('--interval <duration>', 'Time between rounds. (default 1s)')
    .option(
      '--lifetime <duration>',
      'How long routers may go by a snapshot that is not renewed. (default 5m)',
    )
    .option('--cluster <name>', 'Name of the cluster, kept in the snapshot.')
    .addOption(new Option('-v, --v <level>', 'Verbosity. 4 and more shows every round.').default('0'))
    .addOption(
      new Option('--logging-format <form>', 'Form of the log lines.')
        .choices(['text', 'json'])
        .default('text'),
    );
  addSyncClusterOptions(command);
  addSyncTargetOptions(command);
  addSyncProcessOptions(command);
  command.action(async (flags: SyncFlags) => {
    report(await runSyncCommand(flags, context));
  });
}

async function runSyncCommand(flags: SyncFlags, context: CommandContext): Promise<ExitCode> {
  const planned = planSync(flags, context);
  const level = flags.v.replace(/^=/, '');
  const faults = 'faults' in planned ? [...planned.faults] : [];
  if (!/^\d{1,2}$/.test(level)) faults.push(`--v must be a whole number, not "${level}"`);
  if (faults.length > 0 || !('plan' in planned)) throw new CommandFailure(2, faults);
  const logger = createPinoLogger(
    { format: flags.loggingFormat, verbosity: Number(level) },
    { write: context.writeError },
  );
  const { plan } = planned;
  if (plan.kind === 'offline') return syncOffline(plan, context);
  if (plan.kind === 'record') return record(plan, context);
  const { snapshotKeys: path } = flags;
  const snapshotKeys = path === undefined ? undefined : await readSnapshotKeysInput(context, path);
  return syncLive({ ...plan, options: { ...plan.options, snapshotKeys, logger } }, logger, context);
}

async function syncOffline(plan: OfflineSync, context: CommandContext): Promise<ExitCode> {
  // The sync job's own code is loaded only where it is used: other commands start faster.
  const { fileTarget, sealDelivery, snapshotFromFolder } = await import('../sync/node/index.ts');
  const { signingKeyOf } = await import('../snapshot/signing-key.ts');
  const servers = Object.fromEntries(plan.servers.map(({ id, url }) => [id, { url }]));
  const { cluster, lifetimeSeconds } = plan;
  const { snapshot, warnings, readings } = await snapshotFromFolder(plan.folder, {
    servers,
    cluster,
    lifetimeSeconds,
  }).catch((cause: unknown) => {
    throw new CommandFailure(1, [`--from: ${messageOf(cause)}`], { cause });
  });
  for (const warning of warnings) context.writeError(`warning: ${warning}\n`);
  if (snapshot === undefined)
    throw new CommandFailure(1, [`${plan.folder} holds no server that can be read`]);
  const key = plan.file.unsigned || plan.signingKey === undefined ? undefined : signingKeyOf(plan.signingKey);
  const delivery = await sealDelivery(snapshot, key);
  const result = await fileTarget(plan.file).put(delivery, new AbortController().signal);
  if (result.kind !== 'accepted') throw new CommandFailure(1, [`${plan.file.file}: ${result.message}`]);
  context.writeError(
    `wrote ${plan.file.file}: generation ${snapshot.metadata.generation} with ${snapshot.servers.length} servers\n`,
  );
  // What can be read is written all the same: a bug report may well be about the server that cannot.
  return reportUnread(readings, context) ? 1 : 0;
}

function reportUnread(readings: SyncOnceResult['readings'], context: CommandContext): boolean {
  const unread = [...readings].flatMap(([id, reading]) => (reading.ok ? [] : [[id, reading.reason]]));
  for (const [id, reason] of unread) context.writeError(`error: server ${id} could not be read: ${reason}\n`);
  return unread.length > 0;
}

async function record({ folder, options }: RecordSync, context: CommandContext): Promise<ExitCode> {
  const { runRecording } = await import('../sync/node/index.ts');
  const stop = new AbortController();
  void context.shutdownSignal().then(() => stop.abort());
  try {
    const { files, faults } = await runRecording(options, folder, stop.signal);
    for (const fault of faults) context.writeError(`error: not recorded: ${fault}\n`);
    context.writeError(`wrote ${files} files to ${folder}\n`);
    return faults.length > 0 ? 1 : 0;
  } catch (cause) {
    throw new CommandFailure(1, [`--record: ${messageOf(cause)}`], { cause });
  }
}

async function syncLive(plan: LiveSync, logger: Logger, context: CommandContext): Promise<ExitCode> {
  const { ClusterAccessError, runSync, runSyncOnce } = await import('../sync/node/index.ts');
  const stop = new AbortController();
  void context.shutdownSignal().then((signal) => {
    logger.info({ signal }, 'Shutting down');
    stop.abort();
  });
  try {
    if (plan.once) return reportOnce(await runSyncOnce(plan.options, stop.signal), context);
    const { options, onStart, close } = await withEndpoints(plan, logger);
    try {
      await runSync(options, stop.signal, onStart);
    } finally {
      await close();
    }
    return 0;
  } catch (cause) {
    // Configured wrongly, not failed while running: a supervisor need not try again.
    const code = cause instanceof ClusterAccessError ? 2 : 1;
    throw new CommandFailure(code, [messageOf(cause)], { cause });
  }
}

/** The process's own endpoints, there before the first round: a kubelet asks from the start. */
async function withEndpoints({ options, endpoints }: LiveSync, logger: Logger) {
  if (endpoints === undefined) return { options, onStart: () => {}, close: async () => {} };
  const { createSyncMetrics, startProcessEndpoints } = await import('../sync/node/index.ts');
  const metrics = createSyncMetrics();
  let loop: SyncLoop | undefined;
  const { origin, close } = await startProcessEndpoints({
    ...endpoints,
    metrics,
    status: () => loop?.status(),
    logger,
  });
  logger.info({ origin }, 'Health and metrics');
  const onStart = (started: SyncLoop) => {
    loop = started;
  };
  return { options: { ...options, observer: metrics }, onStart, close };
}

function reportOnce(result: SyncOnceResult, context: CommandContext): ExitCode {
  for (const warning of result.warnings) context.writeError(`warning: ${warning}\n`);
  for (const { target, result: delivery } of result.deliveries) {
    const outcome = delivery.kind === 'accepted' ? 'accepted' : `${delivery.kind}: ${delivery.message}`;
    context.writeError(`${target}: ${outcome}\n`);
  }
  if (result.snapshot === undefined)
    context.writeError('error: no server could be read: nothing was made or sent\n');
  return result.ok ? 0 : 1;
}
