import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { errorMessage } from '../../runtime/error-message.ts';
import { parseHttpsOrigin } from '../../snapshot/addresses/host-port.ts';
import { sealedSnapshotLimit } from '../../snapshot/format/limits.ts';
import { parseSnapshotText } from '../../snapshot/format/parse-snapshot.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { askOverHttps, type HttpsResponse } from '../terminal/ask-over-https.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import { readFlagFile } from '../terminal/flag-files.ts';
import { parseStatusView, type StatusView } from './status-view.ts';

/** The flags for a router's address and the credentials to use, as commander parses them. */
export interface RouterConnectionFlags {
  readonly server?: string;
  readonly tlsServerName?: string;
  readonly certificateAuthority?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly tokenFile?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** How a router is asked. Texts are PEM; `undefined` where there is none. */
export interface RouterConnection {
  /** `https://host:port`. */
  readonly origin: string;
  /** The kubeconfig that names it; `undefined`: `--server` does. */
  readonly from?: string | undefined;
  /** The name its certificate must carry; default the host. */
  readonly serverName: string | undefined;
  /** Default: the system's own. */
  readonly certificateAuthorities: string | undefined;
  readonly clientCertificate: { readonly certificate: string; readonly key: string } | undefined;
  /** Name, value, name, value, …; with credentials. */
  readonly headers: readonly string[];
}

/**
 * Reads where the router is, and the credentials for it. What flags leave out comes from the kubeconfig.
 * @throws {CommandFailure} exit code 2, one line for every error.
 */
export async function readRouterConnection(
  flags: RouterConnectionFlags,
  context: CommandContext,
): Promise<RouterConnection> {
  const issues: string[] = [];
  const read = (flag: string, path: string | undefined): string | undefined =>
    path === undefined ? undefined : readFlagFile(flag, path, context, issues);
  const certificateAuthorities = read('--certificate-authority', flags.certificateAuthority);
  const certificate = read('--client-certificate', flags.clientCertificate);
  const key = read('--client-key', flags.clientKey);
  const token = read('--token-file', flags.tokenFile)?.trim();
  if ((certificate === undefined) !== (key === undefined)) {
    issues.push('--client-certificate and --client-key go together: give both');
  }
  const hasCredentials = flags.clientCertificate !== undefined || flags.tokenFile !== undefined;
  const saysAll = flags.server !== undefined && hasCredentials && flags.context === undefined;
  const found =
    flags.kubeconfig === undefined && saysAll ? undefined : findKubeconfig(flags.kubeconfig, context);
  if (flags.context !== undefined && found === undefined) {
    issues.push('--context needs --kubeconfig, or the variable KUBECONFIG');
  }
  const access = await readKubeconfig(found, flags.context, issues);
  const server = flags.server ?? access?.server;
  if (server === undefined && found === undefined) {
    issues.push(
      '--server is required, for example --server https://10.0.0.1:6443; or --kubeconfig, or the variable KUBECONFIG',
    );
  }
  const parsed = server === undefined ? undefined : parseHttpsOrigin(server);
  if (parsed?.ok === false) issues.push(`--server "${server}" ${parsed.message}`);
  // What could not stand in a header is no token; the file is not quoted, it may be another secret.
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    issues.push(`--token-file: ${flags.tokenFile} must hold one token and nothing else`);
  }
  if (server === undefined || issues.length > 0) throw new CommandFailure(2, issues);
  return {
    origin: server,
    from: flags.server === undefined ? found?.files.join(', ') : undefined,
    serverName: flags.tlsServerName ?? access?.serverName,
    certificateAuthorities: certificateAuthorities ?? access?.certificateAuthorities,
    clientCertificate:
      certificate === undefined || key === undefined ? access?.clientCertificate : { certificate, key },
    headers: token === undefined ? (access?.headers ?? []) : ['authorization', `Bearer ${token}`],
  };
}

async function readKubeconfig(
  found: FoundKubeconfig | undefined,
  context: string | undefined,
  issues: string[],
) {
  const [kubeconfig, ...more] = found?.files ?? [];
  if (kubeconfig === undefined) return undefined;
  // Loaded only where it is used: it is most of what this command would start with.
  const { loadClusterAccess } = await import('../../sync/node/index.ts');
  try {
    const access = await loadClusterAccess({ kubeconfig, context, more });
    return { server: access.server, ...(await access.credentials()) };
  } catch (error) {
    issues.push(`${found?.source}: ${errorMessage(error)}`);
    return undefined;
  }
}

/** Kubeconfig files, in their order, and what names them. */
interface FoundKubeconfig {
  readonly files: readonly string[];
  /** For messages: `--kubeconfig`, `KUBECONFIG`, or where the file is usually. */
  readonly source: string;
}

/**
 * The kubeconfig that kubectl takes (k8s.io/client-go tools/clientcmd ClientConfigLoadingRules): of the flag, else of the
 * variable KUBECONFIG, whose missing files are left out, else `~/.kube/config` where there is one.
 */
function findKubeconfig(
  flag: string | undefined,
  { environment }: Pick<CommandContext, 'environment'>,
): FoundKubeconfig | undefined {
  if (flag !== undefined) return { files: [flag], source: '--kubeconfig' };
  const { KUBECONFIG: listed = '', HOME: home } = environment;
  const named = listed.split(delimiter).filter((path) => path !== '');
  if (named.length > 0) {
    const there = named.filter((path) => existsSync(path));
    // None of them: the first is reported as missing.
    return { files: there.length === 0 ? named.slice(0, 1) : there, source: 'KUBECONFIG' };
  }
  const usual = home === undefined ? undefined : join(home, '.kube', 'config');
  return usual !== undefined && existsSync(usual) ? { files: [usual], source: '~/.kube/config' } : undefined;
}

/** The largest response is the snapshot, as plain JSON. */
const longestResponse = 2 * sealedSnapshotLimit;

/**
 * Asks a router for one of its own paths.
 * @param path below `/.mixed-version-proxy/`
 * @throws when there is no response, or none that ends within ten seconds
 */
function askRouter(
  { origin, headers, ...connection }: RouterConnection,
  path: string,
): Promise<HttpsResponse> {
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
  const response = await ask(connection, 'v1/status');
  if (response.status !== 200) throw notTold(connection, response);
  const status = parseStatusView(response.text);
  if (status === undefined) {
    throw new CommandFailure(1, [`${nameOf(connection)} responds, but not as a router does: is it one?`]);
  }
  return { status, json: JSON.parse(response.text) };
}

/** The snapshot of the router; `undefined` when it does not tell. */
export async function readTable(connection: RouterConnection): Promise<RoutingTable | undefined> {
  const response = await ask(connection, 'v1/snapshot');
  if (response.status !== 200) return undefined;
  const parsed = await parseSnapshotText(response.text);
  return parsed.ok ? buildRoutingTable(parsed.snapshot) : undefined;
}

async function ask(connection: RouterConnection, path: string): Promise<HttpsResponse> {
  try {
    return await askRouter(connection, path);
  } catch (cause) {
    throw new CommandFailure(1, [`${nameOf(connection)} cannot be asked: ${errorMessage(cause)}`], { cause });
  }
}

const advice: Readonly<Partial<Record<number, string>>> = {
  401: 'it does not know who asks: give --client-certificate and --client-key, or --token-file',
  403: 'the caller is neither in its --allowed-users nor in its --allowed-groups',
  404: 'it has no such path: is it a router, or an API server?',
};

/** With the file that names the address: it may not be the one that the user thinks of. */
function nameOf({ origin, from }: RouterConnection): string {
  return from === undefined ? origin : `${origin} (of ${from})`;
}

function notTold(connection: RouterConnection, { status }: HttpsResponse): CommandFailure {
  return new CommandFailure(1, [
    `${nameOf(connection)} returned ${status}: ${advice[status] ?? 'see its log'}`,
  ]);
}
