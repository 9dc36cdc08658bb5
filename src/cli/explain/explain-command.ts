import type * as v from 'valibot';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { preferredVersionSettings } from '../../node/configuration/router-settings.ts';
import {
  boolean,
  file,
  listOfWhole,
  section,
  setting,
  text,
} from '../../node/configuration/setting-types.ts';
import { type Explanation, explainRequest, type RequestToExplain } from '../../proxy/explain.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { readFlags } from '../settings/read-settings.ts';
import type { Command } from '../terminal/command.ts';
import { type CommandContext, CommandFailure, type ExitCode } from '../terminal/command-context.ts';
import { outputSetting, structuredText } from '../terminal/structured-text.ts';
import { explainLines, explanationText, isMethod, isUrl, notesOnRequest, urlRule } from './explain-text.ts';

const flags = section('Flags:', {
  snapshot: setting('snapshot', file, {
    description: 'Snapshot, as JSON or signed. Without it: what happens before the first one arrives.',
  }),
  snapshotKeys: setting('snapshot-keys', file, {
    description: 'Public keys (JWK Set) that a signed snapshot is checked with.',
  }),
  serverId: setting('server-id', text('id'), {
    description: 'ID of the local API server. Without it: as seen from a gateway.',
  }),
  localServerDown: setting('local-server-down', boolean, {
    description: 'The local server is down, and peers take its place where they can.',
  }),
  as: setting('as', text('user'), {
    description: 'The caller. Shown for reference only: decisions are the same for every user.',
  }),
  header: setting('header', listOfWhole('line'), {
    short: 'H',
    description: 'A header of the request, as "Name: value". Repeatable.',
  }),
  fromVerifiedPeer: setting('from-verified-peer', boolean, {
    description: 'The request comes from a verified peer, whose reroute mark counts.',
  }),
  stdin: setting('stdin', boolean, {
    description: 'Read {"method","url","headers"?} lines from standard input.',
  }),
  output: outputSetting,
  routing: preferredVersionSettings,
});

type ExplainOptions = v.InferOutput<typeof flags>;

export const explainCommand: Command = {
  description:
    'Say where a request would go, and why: by the functions that route, without sending anything.',
  examples: [
    {
      comment: 'Where does a request go, seen from the server cp-a?',
      line: 'explain GET /apis/batch/v1/jobs --snapshot snapshot.json --server-id cp-a',
    },
    {
      comment: 'Many at once: JSON lines in, one JSON line out for each.',
      line: 'explain --stdin --snapshot snapshot.json < requests.jsonl',
    },
  ],
  arguments: [
    { name: 'METHOD', description: 'HTTP method, for example GET.' },
    { name: 'URL', description: 'Path with its query, or an https:// URL.' },
  ],
  flags: [flags],
  run(given, context) {
    const [method, url] = given.words;
    return runExplain(method, url, readFlags(flags, given), context);
  },
};

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
        version: options.routing.preferredVersion,
        scope: options.routing.preferredVersionScope,
        required: options.routing.preferredVersionRequired,
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
  { serverId, as, routing: { preferredVersion } }: ExplainOptions,
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
