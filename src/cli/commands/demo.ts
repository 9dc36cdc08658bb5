import { errorMessage } from '../../runtime/error-message.ts';
import { parseDuration } from '../flags/flag-types.ts';
import type { CliCommand, ReportExitCode } from '../terminal/cli-command.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';

/** The package that the demo is: example API servers and certificates are no part of the product. */
const demoPackage = 'mixed-version-proxy-demo';

/** What is used of that package (demo/index.ts). */
interface DemoPackage {
  runDemoCommand(options: {
    readonly directory: string;
    /** Milliseconds. */
    readonly upgradeInterval?: number | undefined;
    readonly signal: AbortSignal;
    readonly write: (text: string) => Promise<void>;
  }): Promise<void>;
}

interface DemoFlags {
  readonly directory: string;
  readonly upgrade?: boolean | undefined;
  readonly upgradeInterval?: string | undefined;
}

export function registerDemo(
  program: CliCommand,
  context: CommandContext,
  report: ReportExitCode,
  /** Loads a package by its name. */
  load: (name: string) => Promise<unknown> = (name) => import(name),
): void {
  program
    .command('demo')
    .helpGroup('Run:')
    .summary('Run a cluster in the middle of an upgrade, to try')
    .description(
      `Run a cluster in the middle of an upgrade on this machine: example API servers of three Kubernetes versions, a router in front of each, and the sync job. Writes a kubeconfig and says what to type. Ends with Ctrl-C and leaves nothing behind. Needs the package ${demoPackage}, which a checkout has.`,
    )
    .examples(
      { comment: 'Kubeconfigs and the log are in .demo while it runs.', line: 'demo' },
      {
        comment: 'See an upgrade from 1.25 to 1.26, server by server, with and without routers.',
        line: 'demo --upgrade',
      },
    )
    .option(
      '--directory <directory>',
      'Where kubeconfigs, certificates and the log go: a new or empty directory.',
      '.demo',
    )
    .option(
      '--upgrade',
      'Upgrade the cluster server by server under a load, half of it through routers, and count what goes wrong. In a terminal keys stop, start and upgrade servers; elsewhere it ends when all are upgraded.',
    )
    .option('--upgrade-interval <duration>', 'With --upgrade, the time between two servers. Default: 10s.')
    .action(async (options: DemoFlags) => {
      const { directory } = options;
      const upgradeInterval = upgradeIntervalOf(options);
      const { runDemoCommand } = await loadDemo(load);
      const stop = new AbortController();
      const signal = context.shutdownSignal();
      signal.then(() => stop.abort()).catch(() => undefined);
      // A terminal that is closed sends SIGHUP; nothing may be left behind then either.
      context.onReloadSignal(() => stop.abort());
      try {
        await runDemoCommand({
          directory,
          upgradeInterval,
          signal: stop.signal,
          write: context.writeOutput,
        });
      } catch (cause) {
        throw new CommandFailure(1, [`the demo cannot run: ${errorMessage(cause)}`], { cause });
      }
      report(0);
    });
}

/**
 * Milliseconds between two upgrades; `undefined` without `--upgrade`.
 * @throws {CommandFailure} when the flags contradict each other, or the duration is none
 */
export function upgradeIntervalOf({
  upgrade = false,
  upgradeInterval,
}: Pick<DemoFlags, 'upgrade' | 'upgradeInterval'>): number | undefined {
  if (!upgrade && upgradeInterval !== undefined) {
    throw new CommandFailure(2, ['--upgrade-interval needs --upgrade']);
  }
  const interval = parseDuration(upgradeInterval ?? '10s');
  if (interval === undefined) {
    throw new CommandFailure(2, [
      `--upgrade-interval must be a duration such as 10s, not "${upgradeInterval}"`,
    ]);
  }
  if (interval === 0) throw new CommandFailure(2, ['--upgrade-interval must be longer than 0s']);
  return upgrade ? interval : undefined;
}

/** @throws {CommandFailure} that says how to get the package, when it is not installed */
async function loadDemo(load: (name: string) => Promise<unknown>): Promise<DemoPackage> {
  try {
    return (await load(demoPackage)) as DemoPackage;
  } catch (cause) {
    // Another module that is missing is an error of that package, not its absence.
    const isMissing =
      cause instanceof Error &&
      'code' in cause &&
      cause.code === 'ERR_MODULE_NOT_FOUND' &&
      cause.message.includes(`'${demoPackage}'`);
    if (!isMissing) throw cause;
    throw new CommandFailure(
      1,
      [
        `the demo is a package of its own, ${demoPackage}, which is not installed. In a checkout run npm ci. ` +
          `Elsewhere install it in the same place as mixed-version-proxy; npm run package makes both in a checkout`,
      ],
      { cause },
    );
  }
}
