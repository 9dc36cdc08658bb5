import * as v from 'valibot';
import { HttpsClient, type HttpsResponse, statusOf } from '../../node/destinations/https-client.ts';
import { parseRouterStatus, type RouterStatus } from '../../own-paths/status/status-schema.ts';
import type { RequestToExplain } from '../../proxy/explain.ts';
import { printable } from '../../runtime/printable.ts';
import { fromJson } from '../../runtime/validation.ts';
import { sealedSnapshotLimit } from '../../snapshot/format/limits.ts';
import { CommandFailure } from '../terminal/command-context.ts';
import { connectionError } from '../terminal/connection-error.ts';
import type { RouterConnection } from './router-connection.ts';

const limits = { responseTimeout: 10_000, longestResponse: 2 * sealedSnapshotLimit };

const statusRole =
  'the ClusterRole mixed-version-proxy-monitor (of a chart <release>:<namespace>:monitor), or to cluster-admin';

/** @throws {CommandFailure} exit code 1 when the router does not tell, as the next two */
export async function readStatus(connection: RouterConnection): Promise<RouterStatus> {
  const told = parseRouterStatus(await ask(connection, 'v1/status', statusRole));
  if (told === undefined) throw noRouter(connection);
  return told;
}

function noRouter(connection: RouterConnection): CommandFailure {
  return new CommandFailure(1, [`${nameOf(connection)} responds, but not as a router does: is it one?`]);
}

/** One connection for all requests, as a TLS handshake costs most. While it is idle it keeps no process alive. */
const clients = new WeakMap<RouterConnection, HttpsClient>();

const explanation = fromJson(v.looseObject({ notes: v.array(v.string()) }));

export async function readExplanation(connection: RouterConnection, request: RequestToExplain) {
  const read = v.safeParse(explanation, await askToExplain(connection, request, 'application/json'));
  if (!read.success) throw noRouter(connection);
  return read.output;
}

/** As people read it. */
export async function readExplanationText(connection: RouterConnection, request: RequestToExplain) {
  const text = await askToExplain(connection, request, 'text/plain');
  if (!/^Request: /m.test(text)) throw noRouter(connection);
  return text;
}

function askToExplain(connection: RouterConnection, { method, url }: RequestToExplain, mediaType: string) {
  const path = `v1/explain?${new URLSearchParams({ method, url })}`;
  return ask(connection, path, 'cluster-admin, or to a ClusterRole that allows the path', mediaType);
}

/**
 * @param path below `/.mixed-version-proxy/`
 * @param role that a caller needs
 */
async function ask(
  connection: RouterConnection,
  path: string,
  role: string,
  mediaType = 'application/json',
): Promise<string> {
  const headers = ['accept', mediaType, ...connection.headers];
  const send = async () => {
    const client =
      clients.get(connection) ?? new HttpsClient(connection, { connectTimeout: limits.responseTimeout });
    clients.set(connection, client);
    return client.ask({ path: `/.mixed-version-proxy/${path}`, headers }, limits);
  };
  const response = await send().catch((cause: unknown) => {
    const reason = connectionError(cause, {
      peer: 'router',
      authorities: `certificate-authority in ${connection.kubeconfig}`,
      serverName: '--tls-server-name',
      responseTimeout: limits.responseTimeout,
    });
    throw new CommandFailure(1, [`${nameOf(connection)} cannot be asked: ${reason}`], { cause });
  });
  if (response.status !== 200) throw notTold(connection, response, role);
  return response.text;
}

/** With the file that names the address: it may not be the one that the user thinks of. */
function nameOf({ origin, from }: RouterConnection): string {
  return from === undefined ? origin : `${origin} (of ${from})`;
}

const advice: Readonly<Partial<Record<number, string>>> = {
  404: 'it is an API server, not a router. Give the address of a router (--server)',
  431: 'the URL is too long to be asked about',
};

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

/** The router's own word (metav1.Status): what or whom it refuses, or that it cannot tell yet. */
function ownReason(status: number, text: string): string | undefined {
  if (![400, 403, 503].includes(status)) return undefined;
  const message = statusOf(text)?.message;
  return message === undefined ? undefined : printable(message);
}

function unauthorized({ clientCertificate, headers, kubeconfig }: RouterConnection): string {
  return clientCertificate === undefined && headers.length === 0
    ? `it does not know who asks: ${kubeconfig} has no credentials`
    : `it does not accept the credentials in ${kubeconfig}`;
}
