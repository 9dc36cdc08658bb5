import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import * as v from 'valibot';
import { CertificatePemError, parseCertificates, parsePair } from '../../node/callers/pem-files.ts';
import { parseRoutersView, type RoutersView } from '../../own-paths/routers/routers-view.ts';
import { parseStatusView, type StatusView } from '../../own-paths/status/status-view.ts';
import { isBearerToken } from '../../runtime/bearer-token.ts';
import { errorMessage, fileErrorMessage } from '../../runtime/error-message.ts';
import { parseHttpsOrigin } from '../../snapshot/addresses/host-port.ts';
import { sealedSnapshotLimit } from '../../snapshot/format/limits.ts';
import { parseSnapshotText } from '../../snapshot/format/parse-snapshot.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { askOverHttps, type HttpsResponse } from '../terminal/ask-over-https.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import { connectionError } from '../terminal/connection-error.ts';
import { printable } from '../terminal/styled-text.ts';

/** The flags for routers' addresses and the credentials to use, as commander parses them. */
export interface RouterConnectionFlags {
  readonly server?: readonly string[];
  readonly tlsServerName?: string;
  readonly certificateAuthority?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly tokenFile?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** How a router is asked. Texts are PEM; `undefined` where there is none. */
export interface RouterConnection extends Credentials {
  /** `https://host:port`. */
  readonly origin: string;
  /** The kubeconfig that names it; `undefined`: `--server` does. */
  readonly from?: string | undefined;
  /** The name its certificate must carry; default the host. */
  readonly serverName: string | undefined;
  /** What names its CAs, for people. */
  readonly authoritiesFrom: string;
}

interface Credentials {
  /** Default: the system's own. */
  readonly certificateAuthorities: string | undefined;
  readonly clientCertificate: { readonly certificate: string; readonly key: string } | undefined;
  /** Name, value, name, value, …; with credentials. */
  readonly headers: readonly string[];
  /** What says who asks, and the file that it is in. */
  readonly named: readonly string[];
}

/**
 * Reads where the routers are, one for each `--server`, and the credentials for all of them. What flags leave out comes
 * from the kubeconfig.
 * @throws {CommandFailure} exit code 2, one line for every error.
 */
export async function readRouterConnections(
  flags: RouterConnectionFlags,
  context: CommandContext,
): Promise<readonly [RouterConnection, ...RouterConnection[]]> {
  const issues: string[] = [];
  const given = readFlagCredentials(flags, context, issues);
  const hasCredentials = flags.clientCertificate !== undefined || flags.tokenFile !== undefined;
  const saysAll = flags.server !== undefined && hasCredentials && flags.context === undefined;
  const found =
    flags.kubeconfig === undefined && saysAll ? undefined : findKubeconfig(flags.kubeconfig, context);
  if (flags.context !== undefined && found === undefined) {
    issues.push('--context needs --kubeconfig, or the variable KUBECONFIG');
  }
  const access = await readKubeconfig(found, flags.context, issues);
  const [first = access?.server, ...others] = new Set(flags.server);
  if (first === undefined && found === undefined) {
    issues.push(
      '--server is required, for example --server https://10.0.0.1:6443; or --kubeconfig, or the variable KUBECONFIG',
    );
  }
  for (const server of first === undefined ? [] : [first, ...others]) {
    const parsed = parseHttpsOrigin(server);
    if (!parsed.ok) issues.push(`--server "${server}" ${parsed.message}`);
  }
  if (first === undefined || issues.length > 0) throw new CommandFailure(2, issues);
  const connectionTo = (origin: string): RouterConnection => ({
    origin,
    from: flags.server === undefined ? found?.files.join(', ') : undefined,
    serverName: flags.tlsServerName ?? access?.serverName,
    certificateAuthorities: given.certificateAuthorities ?? access?.certificateAuthorities,
    authoritiesFrom:
      given.certificateAuthorities === undefined && access?.certificateAuthorities !== undefined
        ? `certificate-authority in ${found?.files.join(', ')}, or give --certificate-authority`
        : '--certificate-authority',
    clientCertificate: given.clientCertificate ?? access?.clientCertificate,
    headers: given.headers.length > 0 ? given.headers : (access?.headers ?? []),
    named: given.named.length > 0 ? given.named : (access?.named ?? []),
  });
  return [connectionTo(first), ...others.map(connectionTo)];
}

function readFlagCredentials(
  { certificateAuthority, clientCertificate, clientKey, tokenFile }: RouterConnectionFlags,
  context: CommandContext,
  issues: string[],
): Credentials {
  /** `undefined`, with an error, for a file that cannot be read: nothing more is to be told of it. */
  const read = (flag: string, path: string | undefined) => {
    const pem = path === undefined ? undefined : readFlagFile(flag, path, context, issues);
    return path === undefined || pem === undefined ? undefined : { source: path, pem };
  };
  const authorities = read('--certificate-authority', certificateAuthority);
  const certificate = read('--client-certificate', clientCertificate);
  const key = read('--client-key', clientKey);
  const token = read('--token-file', tokenFile)?.pem.trim();
  if ((clientCertificate === undefined) !== (clientKey === undefined)) {
    issues.push('--client-certificate and --client-key go together: give both');
  }
  if (token !== undefined && !isBearerToken(token)) {
    issues.push(`--token-file: ${tokenFile} must hold one token and nothing else`);
  }
  // Left to TLS, an error would name neither the file nor its flag, and seem to be the router's.
  const check = (flag: string, parse: () => unknown): void => {
    try {
      parse();
    } catch (error) {
      if (!(error instanceof CertificatePemError)) throw error;
      issues.push(`${flag}: ${error.message}`);
    }
  };
  if (authorities) check('--certificate-authority', () => parseCertificates(authorities));
  if (certificate && key) check('--client-key', () => parsePair(certificate, key));
  return {
    certificateAuthorities: authorities?.pem,
    clientCertificate: certificate && key && { certificate: certificate.pem, key: key.pem },
    headers: token === undefined ? [] : ['authorization', `Bearer ${token}`],
    named: [
      ...(certificate === undefined ? [] : [`the certificate in ${clientCertificate}`]),
      ...(token === undefined ? [] : [`the token in ${tokenFile}`]),
    ],
  };
}

/** Reads the file that a flag names; `undefined`, with an error, when it cannot be read. */
function readFlagFile(
  flag: string,
  path: string,
  context: CommandContext,
  issues: string[],
): string | undefined {
  try {
    return context.readFile(path);
  } catch (error) {
    issues.push(`${flag}: cannot read ${path}: ${fileErrorMessage(error)}`);
    return undefined;
  }
}

async function readKubeconfig(
  found: FoundKubeconfig | undefined,
  context: string | undefined,
  issues: string[],
): Promise<(Credentials & { readonly server: string; readonly serverName: string | undefined }) | undefined> {
  const [kubeconfig, ...more] = found?.files ?? [];
  if (kubeconfig === undefined) return undefined;
  // Loaded only where it is used: it is most of what this command would start with.
  const { loadClusterAccess } = await import('../../sync/node/index.ts');
  try {
    const access = await loadClusterAccess({ kubeconfig, context, more });
    const credentials = await access.credentials();
    const { clientCertificate, headers } = credentials;
    const source = [kubeconfig, ...more].join(', ');
    if (clientCertificate !== undefined) {
      const { certificate, key } = clientCertificate;
      parsePair({ pem: certificate, source }, { pem: key, source });
    }
    const isNobody = clientCertificate === undefined && headers.length === 0;
    return {
      server: access.server,
      ...credentials,
      named: isNobody ? [] : [`the credentials in ${source}`],
    };
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
/** Milliseconds. */
const responseTimeout = 10_000;

/** @throws {CommandFailure} exit code 1 when the router does not tell. */
export function readStatus(connection: RouterConnection): Promise<StatusView> {
  return toldBy(connection, 'v1/status', parseStatusView);
}

/**
 * What the router tells of itself, and of those that it asks in the caller's name.
 * @throws {CommandFailure} exit code 1 when the router does not tell.
 */
export function readRoutersView(
  connection: RouterConnection,
): Promise<Pick<RoutersView, 'notAsked' | 'routers'>> {
  return toldBy(connection, 'v1/routers', parseRoutersView);
}

async function toldBy<Told>(
  connection: RouterConnection,
  path: string,
  parse: (text: string) => Told | undefined,
): Promise<Told> {
  const response = await ask(connection, path);
  if (response.status !== 200) throw notTold(connection, response);
  const told = parse(response.text);
  if (told === undefined) {
    throw new CommandFailure(1, [`${nameOf(connection)} responds, but not as a router does: is it one?`]);
  }
  return told;
}

/** The snapshot of the router; `undefined` when it does not tell. */
export async function readTable(connection: RouterConnection): Promise<RoutingTable | undefined> {
  const response = await ask(connection, 'v1/snapshot');
  if (response.status !== 200) return undefined;
  const parsed = await parseSnapshotText(response.text);
  return parsed.ok ? buildRoutingTable(parsed.snapshot) : undefined;
}

/**
 * Asks a router for one of its own paths.
 * @param path below `/.mixed-version-proxy/`
 */
async function ask(connection: RouterConnection, path: string): Promise<HttpsResponse> {
  const { origin, headers, serverName, certificateAuthorities, clientCertificate } = connection;
  try {
    return await askOverHttps({
      url: `${origin}/.mixed-version-proxy/${path}`,
      headers: ['accept', 'application/json', ...headers],
      serverName,
      certificateAuthorities,
      clientCertificate,
      responseTimeout,
      longestResponse,
    });
  } catch (cause) {
    const reason = connectionError(cause, {
      authorities: connection.authoritiesFrom,
      serverName: '--tls-server-name',
      responseTimeout,
    });
    throw new CommandFailure(1, [`${nameOf(connection)} cannot be asked: ${reason}`], { cause });
  }
}

/** With the file that names the address: it may not be the one that the user thinks of. */
function nameOf({ origin, from }: RouterConnection): string {
  return from === undefined ? origin : `${origin} (of ${from})`;
}

const advice: Readonly<Partial<Record<number, string>>> = {
  403: 'the caller is neither in its --allowed-users nor in its --allowed-groups',
  404: 'it has no such path: is it a router, or an API server?',
};

function notTold(connection: RouterConnection, { status, text }: HttpsResponse): CommandFailure {
  const reason =
    status === 401 ? unauthorized(connection) : (advice[status] ?? ownReason(status, text) ?? 'see its log');
  return new CommandFailure(1, [`${nameOf(connection)} returned ${status}: ${reason}`]);
}

const statusMessage = v.pipe(v.string(), v.parseJson(), v.object({ message: v.string() }));

/** What a router that cannot tell yet says of it itself (metav1.Status). */
function ownReason(status: number, text: string): string | undefined {
  const parsed = v.safeParse(statusMessage, text);
  return status === 503 && parsed.success ? printable(parsed.output.message) : undefined;
}

function unauthorized({ named }: RouterConnection): string {
  return named.length === 0
    ? 'it does not know who asks: give --client-certificate and --client-key, or --token-file'
    : `it does not accept ${named.join(' and ')}`;
}
