import { sealedSnapshotLimit } from '../../snapshot/format/limits.ts';
import { parseSnapshotText } from '../../snapshot/format/parse-snapshot.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { askOverHttps, type HttpsAnswer } from '../terminal/ask-over-https.ts';
import { CommandFailure, messageOf } from '../terminal/command-context.ts';
import type { RouterConnection } from './router-connection.ts';
import { parseStatusView, type StatusView } from './status-view.ts';

/** The largest answer is the snapshot, as plain JSON. */
const longestResponse = 2 * sealedSnapshotLimit;

/**
 * Asks a router for one of its own paths.
 * @param path below `/.mixed-version-proxy/`
 * @throws when there is no answer, or none that ends within ten seconds
 */
function askRouter({ origin, headers, ...connection }: RouterConnection, path: string): Promise<HttpsAnswer> {
  return askOverHttps({
    ...connection,
    url: `${origin}/.mixed-version-proxy/${path}`,
    headers: ['accept', 'application/json', ...headers],
    responseTimeout: 10_000,
    longestResponse,
  });
}

/** @throws {CommandFailure} exit code 1 when the router does not tell. */
export async function readStatus(
  connection: RouterConnection,
): Promise<{ readonly status: StatusView; readonly json: unknown }> {
  const answer = await ask(connection, 'v1/status');
  if (answer.status !== 200) throw notTold(connection, answer);
  const status = parseStatusView(answer.text);
  if (status === undefined) {
    throw new CommandFailure(1, [`${nameOf(connection)} answers, but not as a router does: is it one?`]);
  }
  return { status, json: JSON.parse(answer.text) };
}

/** The snapshot of the router; `undefined` when it does not tell. */
export async function readTable(connection: RouterConnection): Promise<RoutingTable | undefined> {
  const answer = await ask(connection, 'v1/snapshot');
  if (answer.status !== 200) return undefined;
  const parsed = await parseSnapshotText(answer.text);
  return parsed.ok ? buildRoutingTable(parsed.snapshot) : undefined;
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
