import { setTimeout as sleep } from 'node:timers/promises';
import { Option } from 'commander';
import { clusterView } from '../../dashboard/cluster-view.ts';
import { parseSnapshotText } from '../../snapshot/format/parse-snapshot.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import type { HttpsAnswer } from '../terminal/ask-over-https.ts';
import type { CliCommand, ReportExitCode } from '../terminal/cli-command.ts';
import { type CommandContext, CommandFailure, messageOf } from '../terminal/command-context.ts';
import { type StructuredForm, structuredText } from '../terminal/structured-text.ts';
import { type ColorMode, colorOption, isColored } from '../terminal/terminal-color.ts';
import { askRouter } from './ask-router.ts';
import {
  type RouterConnection,
  type RouterConnectionFlags,
  readRouterConnection,
} from './router-connection.ts';
import { type StatusReport, statusText } from './status-text.ts';
import { parseStatusView } from './status-view.ts';

interface StatusOptions extends RouterConnectionFlags {
  readonly output: 'text' | 'wide' | StructuredForm;
  readonly watch?: true;
  readonly color: ColorMode;
}

const watchInterval = 2_000;
/** Cursor to the first line, and everything below it erased (ECMA-48 sections 8.3.21 and 8.3.39): what has scrolled stays. */
const eraseScreen = '\u001b[H\u001b[J';

export function registerStatus(program: CliCommand, context: CommandContext, report: ReportExitCode): void {
  program
    .command('status')
    .helpGroup('Inspect:')
    .summary('Show what a running router knows')
    .description(
      'Show what a running router knows: whether it is ready, its servers with version and health, which groups they serve differently, its snapshot, and what somebody should see to. Exits with 1 when the router is not ready. The caller has to be one of --allowed-users or --allowed-groups of the router.',
    )
    .examples(
      {
        comment: 'As the user of a kubeconfig; the router is the server that it names.',
        line: 'status --kubeconfig admin.conf',
      },
      {
        comment: 'One router of several, with every resource that differs.',
        line: [
          'status --server https://10.0.0.1:7443 --certificate-authority ca.crt',
          '--client-certificate admin.crt --client-key admin.key -o wide',
        ].join(' '),
      },
    )
    .option('--server <https://host:port>', 'The router. Default: the server of --kubeconfig.')
    .option(
      '--tls-server-name <name>',
      "Name that the router's certificate must carry. Default: the host of --server.",
    )
    .option('--certificate-authority <file>', "CA bundle that the router's certificate is checked against.")
    .option('--client-certificate <file>', 'Client certificate to ask with.')
    .option('--client-key <file>', 'Private key for --client-certificate.')
    .option('--token-file <file>', 'Bearer token to ask with.')
    .option(
      '--kubeconfig <file>',
      'Where server and credentials come from, unless flags name others. Default: the files of the variable KUBECONFIG, else ~/.kube/config, as for kubectl.',
    )
    .option('--context <name>', 'Context of --kubeconfig. Default: its current one.')
    .option(
      '--watch',
      `Show it again every ${watchInterval / 1000} seconds, until Ctrl-C; on a terminal in the place of the last.`,
    )
    .addOption(
      new Option('-o, --output <form>', 'Form of the answer; json and yaml are what the router says.')
        .choices(['text', 'wide', 'json', 'yaml'])
        .default('text'),
    )
    .addOption(colorOption())
    .action(async (options: StatusOptions) => {
      const connection = await readRouterConnection(options, context);
      if (options.watch === true) {
        await watch(connection, options, context);
        return report(0);
      }
      const { text, isReady } = await statusOutput(connection, options, context);
      await context.writeOutput(text);
      report(isReady ? 0 : 1);
    });
}

async function watch(
  connection: RouterConnection,
  options: StatusOptions,
  context: CommandContext,
): Promise<void> {
  const stop = new AbortController();
  void context.shutdownSignal().then(() => stop.abort());
  while (!stop.signal.aborted) {
    // A router that restarts is missing for a moment: that is what one watches for.
    const { text } = await statusOutput(connection, options, context).catch((error: unknown) => {
      if (!(error instanceof CommandFailure)) throw error;
      return { text: `${error.lines.join('\n')}\n` };
    });
    const redraw = context.outputIsTerminal ? eraseScreen : '';
    await context.writeOutput(`${redraw}${new Date(context.clock()).toISOString()}\n${text}\n`);
    await sleep(watchInterval, undefined, { signal: stop.signal }).catch(() => undefined);
  }
}

/** @throws {CommandFailure} exit code 1 when the router does not tell. */
async function statusOutput(
  connection: RouterConnection,
  { output, color }: StatusOptions,
  context: CommandContext,
): Promise<{ readonly text: string; readonly isReady: boolean }> {
  const answer = await ask(connection, 'v1/status');
  if (answer.status !== 200) throw notTold(connection, answer);
  const status = parseStatusView(answer.text);
  if (status === undefined) {
    throw new CommandFailure(1, [`${nameOf(connection)} answers, but not as a router does: is it one?`]);
  }
  // A router of the release before does not say; that it tells its status is all there is to go by.
  const isReady = status.readiness?.ready !== false;
  if (output === 'json' || output === 'yaml')
    return { text: structuredText(JSON.parse(answer.text), output), isReady };
  const cluster = status.snapshot === null ? undefined : await readCluster(connection);
  const text = statusText({ status, cluster }, context.clock(), {
    isWide: output === 'wide',
    isColored: isColored(color, context),
  });
  return { text, isReady };
}

async function readCluster(connection: RouterConnection): Promise<StatusReport['cluster']> {
  const answer = await ask(connection, 'v1/snapshot');
  if (answer.status !== 200) return undefined;
  const parsed = await parseSnapshotText(answer.text);
  return parsed.ok ? clusterView(buildRoutingTable(parsed.snapshot)) : undefined;
}

async function ask(connection: RouterConnection, path: string): Promise<HttpsAnswer> {
  try {
    return await askRouter(connection, path);
  } catch (cause) {
    throw new CommandFailure(1, [`${nameOf(connection)} cannot be asked: ${messageOf(cause)}`], { cause });
  }
}

const advice: Readonly<Partial<Record<number, string>>> = {
  401: 'it does not know who asks: give --client-certificate and --client-key, or --token-file',
  403: 'the caller is neither in its --allowed-users nor in its --allowed-groups',
  404: 'it has no such path: is it a router, or an API server?',
};

/** With the file that names it, which may be another one than somebody thinks. */
function nameOf({ origin, from }: RouterConnection): string {
  return from === undefined ? origin : `${origin} (of ${from})`;
}

function notTold(connection: RouterConnection, { status }: HttpsAnswer): CommandFailure {
  return new CommandFailure(1, [
    `${nameOf(connection)} returned ${status}: ${advice[status] ?? 'see its log'}`,
  ]);
}
