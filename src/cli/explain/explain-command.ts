import type * as v from 'valibot';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { HealthStatus } from '../../health/health-state.ts';
import { preferredVersionSettings } from '../../node/configuration/router-settings.ts';
import {
  boolean,
  file,
  listOfWhole,
  section,
  setting,
  text,
} from '../../node/configuration/setting-types.ts';
import {
  type ExplainContext,
  type Explanation,
  explainRequest,
  type RequestToExplain,
} from '../../proxy/explain.ts';
import { isPreferredVersion } from '../../routing/preferred-version.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { readFlags } from '../settings/read-settings.ts';
import { routerConnectionSettings } from '../status/router-connection.ts';
import type { Command } from '../terminal/command.ts';
import { type CommandContext, CommandFailure, type ExitCode } from '../terminal/command-context.ts';
import { jsonText, outputSetting } from '../terminal/structured-text.ts';
import { explainLines, explanationText, isMethod, isUrl, notesOnRequest, urlRule } from './explain-text.ts';

const flags = section('Flags:', {
  snapshot: setting('snapshot', file, {
    description:
      'Snapshot, as JSON or signed, instead of a running router. Without either: what happens before the first one arrives.',
  }),
  snapshotKeys: setting('snapshot-keys', file, {
    description: 'Public keys (JWK Set) that a signed snapshot is checked with.',
  }),
  serverId: setting('server-id', text('id'), {
    description:
      'ID of the local API server. Default: that of the router that is asked, else as seen from a gateway.',
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
  router: section(
    'A running router, whose snapshot, settings and view of health count:',
    routerConnectionSettings,
  ),
});

type ExplainOptions = v.InferOutput<typeof flags>;

export const explainCommand: Command = {
  description:
    'Say where a request would go, and why: by the functions that route, without sending it. With --kubeconfig, --server or the variable KUBECONFIG, as the running router there has it; with --snapshot, by that alone.',
  examples: [
    {
      comment: 'Where does a request go, by the router of this kubeconfig?',
      line: 'explain GET /apis/batch/v1/jobs --kubeconfig admin.conf',
    },
    {
      comment: 'Where does a request go, seen from the server cp-a?',
      line: ['explain GET /apis/batch/v1/jobs', '--snapshot snapshot.json --server-id cp-a'],
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
  const { table, notes, router } = await readKnowledge(options, context, issues);
  const serverId = options.serverId ?? router?.serverId;
  const { preferredVersion, preferredVersionScope, preferredVersionRequired } = options.routing;
  const explain = (request: RequestToExplain): Explanation =>
    explainRequest(request, table, {
      serverId,
      localServerIsDown: options.localServerDown === true || router?.localServerIsDown === true,
      preferredVersion: router?.preferredVersion ?? {
        version: preferredVersion,
        scope: preferredVersionScope,
        required: preferredVersionRequired,
      },
      fromVerifiedPeer: options.fromVerifiedPeer === true,
      enabled: router?.enabled,
      healthOf: router?.healthOf,
    });

  if (method === undefined || url === undefined) {
    for (const note of notes) context.writeError(`note: ${note}\n`);
    return explainLines(context, explain);
  }
  const request = { method, url, headers: headersOf(options.header ?? []) };
  const explained = explain(request);
  const explanation = {
    ...explained,
    notes: [
      ...notes,
      ...notesOnRequest(method, url),
      ...notesFor(options, table, router !== undefined),
      ...explained.notes,
    ],
  };
  await context.writeOutput(
    options.output === 'text'
      ? explanationText(request, explanation, table)
      : jsonText({ ...explanation, user: options.as }),
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

interface Knowledge {
  readonly table: RoutingTable | undefined;
  readonly notes: readonly string[];
  /** Of the router that was asked. Absent: none was. */
  readonly router?: Pick<
    ExplainContext,
    'localServerIsDown' | 'preferredVersion' | 'enabled' | 'healthOf'
  > & {
    readonly serverId: string | undefined;
  };
}

/** @throws {CommandFailure} with all `issues`, and what is wrong with the snapshot, or why the router does not tell */
async function readKnowledge(
  options: ExplainOptions,
  context: CommandContext,
  given: readonly string[],
): Promise<Knowledge> {
  const { server, kubeconfig, context: named } = options.router;
  const namesRouter = server !== undefined || kubeconfig !== undefined || named !== undefined;
  const issues = [...given];
  if (options.snapshot !== undefined && namesRouter) {
    issues.push(
      '--snapshot goes without a router to ask (--server, --kubeconfig, --context): give one of them',
    );
  }
  if (options.snapshot === undefined || namesRouter) {
    if (issues.length > 0) throw new CommandFailure(2, issues);
    if (namesRouter || (context.environment['KUBECONFIG'] ?? '') !== '') return askRouter(options, context);
    const note =
      'answered from nothing, as by a router that has no snapshot yet: give --kubeconfig or --server to ask a running one, or --snapshot';
    return { table: undefined, notes: [note] };
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
  isAsked: boolean,
): string[] {
  const notes: string[] = [];
  const isNamed = /^\d/.test(preferredVersion);
  if (table !== undefined && isNamed && !table.servers.some(({ minor }) => minor === preferredVersion)) {
    notes.push(`no server of the snapshot is of version ${preferredVersion}: the next one is preferred`);
  }
  if (serverId === undefined && !isAsked)
    notes.push('no --server-id: seen from a gateway, to which no server is local');
  if (as !== undefined)
    notes.push(`the decision is the same for every user; the destination is told of ${as}`);
  return notes;
}

const healthStatuses = ['unknown', 'healthy', 'unhealthy'] as const satisfies readonly HealthStatus[];

async function askRouter(options: ExplainOptions, context: CommandContext): Promise<Knowledge> {
  const [{ readRouterConnections }, { readStatus, readTable }] = await Promise.all([
    import('../status/router-connection.ts'),
    import('../status/ask-router.ts'),
  ]);
  const [connection] = await readRouterConnections(options.router, context);
  const { enabled, form, preferredVersion, serverId, servers, snapshot } = await readStatus(connection);
  const { configured: version, required } = preferredVersion;
  const scope = preferredVersion.scope === 'all' ? 'all' : 'differing';
  if (!isPreferredVersion(version)) {
    throw new CommandFailure(1, [
      `${connection.origin} prefers a version in a way that this command does not know (${version}): use the command of its release`,
    ]);
  }
  const health = new Map(servers.map((server) => [server.id, server.health.status]));
  const table = snapshot === null ? undefined : await readTable(connection);
  if (snapshot !== null && table === undefined) {
    throw new CommandFailure(1, [`${connection.origin} does not show its snapshot to this caller`]);
  }
  return {
    table,
    notes: [`as ${connection.origin} has it, the ${form}${serverId === null ? '' : ` of ${serverId}`}`],
    router: {
      serverId: serverId ?? undefined,
      localServerIsDown: serverId !== null && health.get(serverId) === 'unhealthy',
      preferredVersion: { version, scope, required },
      enabled,
      healthOf: (id) => healthStatuses.find((each) => each === health.get(id)),
    },
  };
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
