import * as v from 'valibot';
import { HttpsClient, type HttpsResponse } from '../../node/destinations/https-client.ts';
import { parseRouterStatus, type RouterStatus } from '../../own-paths/status/status-schema.ts';
import type { RequestToExplain } from '../../proxy/explain.ts';
import { printable } from '../../runtime/printable.ts';
import { sealedSnapshotLimit } from '../../snapshot/format/limits.ts';
import { CommandFailure } from '../terminal/command-context.ts';
import { connectionError } from '../terminal/connection-error.ts';
import type { RouterConnection } from './router-connection.ts';

const limits = { responseTimeout: 10_000, longestResponse: 2 * sealedSnapshotLimit };

/** @throws {CommandFailure} exit code 1 when the router does not tell. */
export async function readStatus(connection: RouterConnection): Promise<RouterStatus> {
  const response = await ask(connection, 'v1/status');
  const role = 'the ClusterRole mixed-version-proxy-monitor, or to cluster-admin';
  if (response.status !== 200) throw notTold(connection, response, role);
  const told = parseRouterStatus(response.text);
  if (told === undefined) throw noRouter(connection);
  return told;
}

function noRouter(connection: RouterConnection): CommandFailure {
  return new CommandFailure(1, [`${nameOf(connection)} responds, but not as a router does: is it one?`]);
}

/** One connection for both requests, as a TLS handshake costs most. While it is idle it keeps no process alive. */
const clients = new WeakMap<RouterConnection, HttpsClient>();

const explanation = v.pipe(v.string(), v.parseJson(), v.looseObject({ notes: v.array(v.string()) }));

/** @throws {CommandFailure} exit code 1 when the router does not tell */
export async function readExplanation(connection: RouterConnection, request: RequestToExplain) {
  const read = v.safeParse(explanation, await readExplanationAs('application/json', connection, request));
  if (!read.success) throw noRouter(connection);
  return read.output;
}

/** As people read it. @throws {CommandFailure} exit code 1 when the router does not tell */
export async function readExplanationText(
  connection: RouterConnection,
  request: RequestToExplain,
): Promise<string> {
  const text = await readExplanationAs('text/plain', connection, request);
  if (!text.startsWith('Request:')) throw noRouter(connection);
  return text;
}

async function readExplanationAs(
  mediaType: string,
  connection: RouterConnection,
  { method, url }: RequestToExplain,
): Promise<string> {
  const response = await ask(connection, `v1/explain?${new URLSearchParams({ method, url })}`, mediaType);
  const role = 'cluster-admin, or to a ClusterRole that allows the path';
  if (response.status !== 200) throw notTold(connection, response, role);
  return response.text;
}

/** @param path below `/.mixed-version-proxy/` */
async function ask(
  connection: RouterConnection,
  path: string,
  mediaType = 'application/json',
): Promise<HttpsResponse> {
  const client =
    clients.get(connection) ?? new HttpsClient(connection, { connectTimeout: limits.responseTimeout });
  clients.set(connection, client);
  try {
    const headers = ['accept', mediaType, ...connection.headers];
    return await client.ask({ path: `/.mixed-version-proxy/${path}`, headers }, limits);
  } catch (cause) {
    const reason = connectionError(cause, {
      authorities: `certificate-authority in ${connection.kubeconfig}`,
      serverName: '--tls-server-name',
      responseTimeout: limits.responseTimeout,
    });
    throw new CommandFailure(1, [`${nameOf(connection)} cannot be asked: ${reason}`], { cause });
  }
}

/** With the file that names the address: it may not be the one that the user thinks of. */
function nameOf({ origin, from }: RouterConnection): string {
  return from === undefined ? origin : `${origin} (of ${from})`;
}

const advice: Readonly<Partial<Record<number, string>>> = {
  404: 'it has no such path: is it an API server?',
  431: 'the URL is too long to be asked about',
};

/** @param role that a caller needs */
function notTold(
  connection: RouterConnection,
  { status, text }: HttpsResponse,
  role: string,
): CommandFailure {
  const forbidden = `bind the caller to ${role}`;
  const known = status === 401 ? unauthorized(connection) : { ...advice, 403: forbidden }[status];
  const reasons = [ownReason(status, text), known].filter((reason) => reason !== undefined);
  const reason = reasons.length === 0 ? 'see its log' : reasons.join(': ');
  return new CommandFailure(1, [`${nameOf(connection)} returned ${status}: ${reason}`]);
}

const statusMessage = v.pipe(v.string(), v.parseJson(), v.object({ message: v.string() }));

/** What a router says itself (metav1.Status): what or whom it refuses, or that it cannot tell yet. */
function ownReason(status: number, text: string): string | undefined {
  if (![400, 403, 503].includes(status)) return undefined;
  const parsed = v.safeParse(statusMessage, text);
  return parsed.success ? printable(parsed.output.message) : undefined;
}

function unauthorized({ clientCertificate, headers, kubeconfig }: RouterConnection): string {
  return clientCertificate === undefined && headers.length === 0
    ? `it does not know who asks: ${kubeconfig} has no credentials`
    : `it does not accept the credentials in ${kubeconfig}`;
}
