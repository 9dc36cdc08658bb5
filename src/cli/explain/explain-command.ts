import { InvalidArgumentError, Option } from 'commander';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { type Explanation, explainRequest, type RequestToExplain } from '../../proxy/explain.ts';
import type { PreferredVersion } from '../../routing/decision.ts';
import { isPreferredVersion } from '../../routing/preferred-version.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { CliCommand, ReportExitCode } from '../terminal/cli-command.ts';
import { type CommandContext, CommandFailure, type ExitCode } from '../terminal/command-context.ts';
import { type StructuredForm, structuredForms, structuredText } from '../terminal/structured-text.ts';
import { explainLines, explanationText, isMethod, isUrl, notesOnRequest, urlRule } from './explain-text.ts';

interface ExplainOptions {
  readonly snapshot?: string;
  readonly snapshotKeys?: string;
  readonly serverId?: string;
  readonly as?: string;
  readonly header?: readonly string[];
  readonly fromVerifiedPeer?: true;
  readonly localServerDown?: true;
  readonly preferredVersion: PreferredVersion;
  readonly preferredVersionScope: 'differing' | 'all';
  readonly preferredVersionRequired?: true;
  readonly stdin?: true;
  readonly output: 'text' | StructuredForm;
}

export function registerExplain(command: CliCommand, context: CommandContext, report: ReportExitCode): void {
  command
    .description(
      'Say where a request would go, and why: by the functions that route, without sending anything.',
    )
    .examples(
      {
        comment: 'Where does a request go, seen from the server cp-a?',
        line: 'explain GET /apis/batch/v1/jobs --snapshot snapshot.json --server-id cp-a',
      },
      {
        comment: 'Many at once: JSON lines in, one JSON line out for each.',
        line: 'explain --stdin --snapshot snapshot.json < requests.jsonl',
      },
    )
    .argument('[METHOD]', 'HTTP method, for example GET.')
    .argument('[URL]', 'Path with its query, or an https:// URL.')
    .option(
      '--snapshot <file>',
      'Snapshot, as JSON or signed. Without it: what happens before the first one arrives.',
    )
    .option('--snapshot-keys <file>', 'Public keys (JWK Set) that a signed snapshot is checked with.')
    .option('--server-id <id>', 'ID of the local API server. Without it: as seen from a gateway.')
    .option('--local-server-down', 'The local server is down, and peers take its place where they can.')
    .option('--as <user>', 'The caller. Shown for reference only: decisions are the same for every user.')
    .option('-H, --header <line>', 'A header of the request, as "Name: value". Repeatable.', collect)
    .option('--from-verified-peer', 'The request comes from a verified peer, whose reroute mark counts.')
    .option('--preferred-version <version>', 'As given to serve.', preferredVersionOf, 'majority')
    .addOption(
      new Option('--preferred-version-scope <scope>', 'As given to serve.')
        .choices(['differing', 'all'])
        .default('differing'),
    )
    .option('--preferred-version-required', 'As given to serve.')
    .option('--stdin', 'Read {"method","url","headers"?} lines from standard input.')
    .addOption(
      new Option('-o, --output <form>', 'Form of the output.')
        .choices(['text', ...structuredForms])
        .default('text'),
    )
    .action(async (method: string | undefined, url: string | undefined, options: ExplainOptions) => {
      report(await runExplain(method, url, options, context));
    });
}

async function runExplain(
  method: string | undefined,
  url: string | undefined,
  options: ExplainOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const issues = [...issuesOfRequest(method, url, options), ...issuesOfHeaders(options.header ?? [])];
  const { table, notes } = await readTable(options, context, issues);
  const explain = (request: RequestToExplain): Explanation =>
    explainRequest(request, table, {
      serverId: options.serverId,
      localServerIsDown: options.localServerDown === true,
      preferredVersion: {
        version: options.preferredVersion,
        scope: options.preferredVersionScope,
        required: options.preferredVersionRequired === true,
      },
      fromVerifiedPeer: options.fromVerifiedPeer === true,
    });

  if (method === undefined || url === undefined) {
    for (const note of notes) context.writeError(`note: ${note}\n`);
    return explainLines(context, explain);
  }
  const request = { method, url, headers: headersOf(options.header ?? []) };
  const explained = explain(request);
  const explanation = {
    ...explained,
    notes: [...notes, ...notesOnRequest(method, url), ...notesFor(options, table), ...explained.notes],
  };
  await context.writeOutput(
    options.output === 'text'
      ? explanationText(request, explanation, table)
      : await structuredText({ ...explanation, user: options.as }, options.output),
  );
  return 0;
}

/** Without any, there are METHOD and URL, or `--stdin` in their place. */
function issuesOfRequest(
  method: string | undefined,
  url: string | undefined,
  { stdin }: ExplainOptions,
): readonly string[] {
  if (stdin === true)
    return method === undefined ? [] : ['--stdin takes no METHOD and URL: they come in the lines'];
  if (method === undefined || url === undefined) {
    return ['METHOD and URL are required, for example: explain GET /api/v1/pods'];
  }
  return [
    ...(isMethod(method) ? [] : [`${JSON.stringify(method)} cannot be an HTTP method: name one such as GET`]),
    ...(isUrl(url) ? [] : [`URL ${urlRule}, not ${JSON.stringify(url)}`]),
  ];
}

/** @throws {CommandFailure} exit code 2 with all `issues`, and what is wrong with the snapshot */
async function readTable(
  options: ExplainOptions,
  context: CommandContext,
  issues: readonly string[],
): Promise<{ table: RoutingTable | undefined; notes: readonly string[] }> {
  if (options.snapshot === undefined) {
    if (issues.length > 0) throw new CommandFailure(2, issues);
    return { table: undefined, notes: ['no --snapshot: seen from a router that has none yet'] };
  }
  const { readSnapshotInput } = await import('../snapshot/snapshot-input.ts');
  const input = await readSnapshotInput(context, '--snapshot', options.snapshot, options.snapshotKeys).catch(
    (cause: unknown) => {
      throw cause instanceof CommandFailure ? new CommandFailure(2, [...issues, ...cause.lines]) : cause;
    },
  );
  const { serverId } = options;
  const isKnown = serverId === undefined || input.table.server(serverId) !== undefined;
  const known = input.table.servers.map(({ id }) => id).join(', ');
  const unknown = isKnown ? [] : [`--server-id: the snapshot has no server ${serverId}; it has ${known}`];
  if (issues.length > 0 || !isKnown) throw new CommandFailure(2, [...issues, ...unknown]);
  return input;
}

function notesFor(
  { serverId, as, preferredVersion }: ExplainOptions,
  table: RoutingTable | undefined,
): string[] {
  const notes: string[] = [];
  const isNamed = /^\d/.test(preferredVersion);
  if (table !== undefined && isNamed && !table.servers.some(({ minor }) => minor === preferredVersion)) {
    notes.push(`no server of the snapshot is of version ${preferredVersion}: the next one is preferred`);
  }
  if (serverId === undefined) notes.push('no --server-id: seen from a gateway, to which no server is local');
  if (as !== undefined)
    notes.push(`the decision is the same for every user; the destination is told of ${as}`);
  return notes;
}

function issuesOfHeaders(lines: readonly string[]): readonly string[] {
  return lines
    .filter((line) => line.indexOf(':') < 1)
    .map((line) => `--header must be "Name: value", not "${line}"`);
}

function headersOf(lines: readonly string[]): RawHeaders {
  return lines.flatMap((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
}

function preferredVersionOf(given: string): PreferredVersion {
  if (isPreferredVersion(given)) return given;
  throw new InvalidArgumentError('must be majority, newest, oldest, local, or a minor version such as 1.36');
}

function collect(value: string, previous: readonly string[] | undefined): readonly string[] {
  return [...(previous ?? []), value];
}
