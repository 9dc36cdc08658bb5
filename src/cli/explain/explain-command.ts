import * as v from 'valibot';
import { explanationText, row } from '../../dashboard/wording/explanation-text.ts';
import { preferredVersionSettings } from '../../node/configuration/router-settings.ts';
import { boolean, file, section, setting, text } from '../../node/configuration/setting-types.ts';
import {
  type Explanation,
  explainRequest,
  isUrlToExplain,
  type RequestToExplain,
} from '../../proxy/explain.ts';
import { token } from '../../request/headers.ts';
import { printable } from '../../runtime/printable.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { readFlags } from '../settings/read-settings.ts';
import { isKubeconfigThere, routerConnectionSettings } from '../status/router-connection.ts';
import type { Command } from '../terminal/command.ts';
import { type CommandContext, CommandFailure, type ExitCode } from '../terminal/command-context.ts';
import { jsonText, outputSetting } from '../terminal/structured-text.ts';

const flags = section('Flags:', {
  snapshot: setting('snapshot', file, {
    description:
      'Snapshot, as JSON or signed, instead of a running router. Without either: what happens before the first one arrives.',
  }),
  snapshotKeys: setting('snapshot-keys', file, {
    description: 'Public keys (JWK Set) that a signed snapshot is checked with.',
  }),
  serverId: setting('server-id', text('id'), {
    description: 'ID of the local API server, where no router is asked. Default: as seen from a gateway.',
  }),
  as: setting('as', text('user'), {
    description: 'The caller. Shown for reference only: decisions are the same for every user.',
  }),
  stdin: setting('stdin', boolean, {
    description: 'Read {"method","url","headers"?} lines from standard input.',
  }),
  output: outputSetting,
  routing: preferredVersionSettings,
  router: section('A running router, which says what it would do:', routerConnectionSettings),
});

type ExplainOptions = v.InferOutput<typeof flags>;

export const explainCommand: Command = {
  description:
    'Say where a request would go, and why, without sending it. The running router of the kubeconfig answers; with --snapshot, that snapshot alone.',
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
    const options = readFlags(flags, given);
    return runExplain(
      method,
      url,
      options,
      withoutRouter.filter((flag) => given.flags[flag] !== undefined),
      context,
    );
  },
};

/** Flags that a running router needs none of: it has its own. */
const withoutRouter = ['snapshot', 'snapshot-keys', 'server-id', 'preferred-version'];

/** @param ofSnapshot those of `withoutRouter` that are given */
async function runExplain(
  method: string | undefined,
  url: string | undefined,
  options: ExplainOptions,
  ofSnapshot: readonly string[],
  context: CommandContext,
): Promise<ExitCode> {
  const explainer = await explainerOf(options, ofSnapshot, context, issuesOfRequest(method, url, options));
  const { as } = options;
  const notes =
    as === undefined
      ? explainer.notes
      : [...explainer.notes, `the decision is the same for every user; the destination is told of ${as}`];
  if (method === undefined || url === undefined) {
    for (const note of notes) context.writeError(`note: ${note}\n`);
    return explainLines(context, explainer.explain);
  }
  const request = { method, url };
  if (options.output === 'text') {
    const lines = [
      ...(await explainer.text(request)).trimEnd().split('\n'),
      ...notes.map((note) => row('Note', note)),
    ];
    await context.writeOutput(`${lines.map(printable).join('\n')}\n`);
  } else {
    const explanation = await explainer.explain(request);
    await context.writeOutput(
      jsonText({ ...explanation, notes: [...explanation.notes, ...notes], user: as }),
    );
  }
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
    ...(token.test(method)
      ? []
      : [`${JSON.stringify(method)} cannot be an HTTP method: name one such as GET`]),
    ...(isUrlToExplain(url)
      ? []
      : [`URL must be a path that begins with /, or an https:// URL, not ${JSON.stringify(url)}`]),
  ];
}

/** A source that knows where requests go: a running router, or a snapshot. */
interface Explainer {
  readonly notes: readonly string[];
  readonly text: (request: RequestToExplain) => string | Promise<string>;
  readonly explain: (request: RequestToExplain) => ShownExplanation | Promise<ShownExplanation>;
}

/** An explanation for programs, of which this command knows the notes alone. */
type ShownExplanation = Pick<Explanation, 'notes'>;

/** @throws {CommandFailure} with all `issues`, and what is wrong with the snapshot */
async function explainerOf(
  options: ExplainOptions,
  ofSnapshot: readonly string[],
  context: CommandContext,
  issues: readonly string[],
): Promise<Explainer> {
  const { snapshot } = options;
  const { server, kubeconfig, context: named } = options.router;
  const namesRouter = server !== undefined || kubeconfig !== undefined || named !== undefined;
  if (namesRouter || (snapshot === undefined && isKubeconfigThere(context))) {
    const useless = ofSnapshot.map(
      (flag) => `--${flag} goes without a router to ask (--server, --kubeconfig, --context, KUBECONFIG)`,
    );
    if ((server ?? []).length > 1) useless.push('--server: explain asks one router, name one');
    if (issues.length + useless.length > 0) throw new CommandFailure(2, [...issues, ...useless]);
    return askedRouter(options, context);
  }
  if (snapshot !== undefined) return readSnapshot(snapshot, options, context, issues);
  if (issues.length > 0) throw new CommandFailure(2, issues);
  const note =
    'answered from nothing, as by a router that has no snapshot yet: give --kubeconfig or --server to ask a running one, or --snapshot';
  return explainerBy(undefined, [note], options);
}

async function askedRouter({ router }: ExplainOptions, context: CommandContext): Promise<Explainer> {
  const [{ readRouterConnections }, { readExplanation, readExplanationText }] = await Promise.all([
    import('../status/router-connection.ts'),
    import('../status/ask-router.ts'),
  ]);
  const [connection] = await readRouterConnections(router, context);
  return {
    notes: [`as ${connection.origin} has it`],
    text: (request) => readExplanationText(connection, request),
    explain: (request) => readExplanation(connection, request),
  };
}

async function readSnapshot(
  path: string,
  options: ExplainOptions,
  context: CommandContext,
  issues: readonly string[],
): Promise<Explainer> {
  const { readSnapshotInput } = await import('../snapshot/snapshot-input.ts');
  const input = await readSnapshotInput(context, '--snapshot', path, options.snapshotKeys).catch(
    (cause: unknown) => {
      throw cause instanceof CommandFailure ? new CommandFailure(2, [...issues, ...cause.lines]) : cause;
    },
  );
  const { table } = input;
  const { serverId } = options;
  const isKnown = serverId === undefined || table.server(serverId) !== undefined;
  const known = table.servers.map(({ id }) => id).join(', ');
  const unknown = isKnown ? [] : [`--server-id: the snapshot has no server ${serverId}; it has ${known}`];
  if (issues.length > 0 || !isKnown) throw new CommandFailure(2, [...issues, ...unknown]);
  return explainerBy(table, input.notes, options);
}

function explainerBy(
  table: RoutingTable | undefined,
  notes: readonly string[],
  { serverId, routing }: ExplainOptions,
): Explainer {
  const explain = (request: RequestToExplain): Explanation =>
    explainRequest(request, table, {
      serverId,
      preferredVersion: routing.preferredVersion,
    });
  return {
    notes,
    text: (request) => explanationText(request, explain(request), table, serverId),
    explain,
  };
}

/**
 * Explains requests given as JSON lines, one JSON line each. A line that cannot be read, or that the router refuses to explain,
 * results in `{"line":…,"error":…}` and exit code 1 at the end; the lines after it are explained all the same.
 */
async function explainLines(context: CommandContext, explain: Explainer['explain']): Promise<ExitCode> {
  const explainLine = async (text: string): Promise<object> => {
    const request = v.safeParse(requestLine, text);
    if (!request.success) return { error: request.issues[0].message };
    try {
      return { ...(await explain(request.output)), notes: undefined, trace: undefined };
    } catch (error) {
      // A router that could not be asked, which has a cause, cannot be asked about the next one either.
      if (!(error instanceof CommandFailure) || error.cause !== undefined) throw error;
      return { error: error.message };
    }
  };
  let line = 0;
  let exitCode: ExitCode = 0;
  for await (const text of linesOf(context.stdin)) {
    line += 1;
    if (text.trim() === '') continue;
    const shown = await explainLine(text);
    if ('error' in shown) exitCode = 1;
    await context.writeOutput(`${JSON.stringify('error' in shown ? { line, ...shown } : shown)}\n`);
  }
  return exitCode;
}

async function* linesOf(input: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of input) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  yield rest;
}

/** Headers change nothing: the reroute mark counts only from a verified peer. */
const requestLine = v.pipe(
  v.string(),
  v.parseJson(undefined, 'not JSON; expected {"method":"GET","url":"/api/v1/pods"}'),
  v.object(
    {
      method: v.pipe(
        v.string('"method" must be a string'),
        v.regex(token, '"method" cannot be an HTTP method'),
      ),
      // Any other text is a request target that clients can send, and that the router refuses: a decision as well.
      url: v.pipe(v.string('"url" must be a string'), v.nonEmpty('"url" must not be empty')),
    },
    'expected an object with "method" and "url"',
  ),
);
