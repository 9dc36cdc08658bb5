import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type * as v from 'valibot';
import { CertificatePemError, parseCertificates, parsePair } from '../../node/callers/pem-files.ts';
import { file, listOfWhole, setting, text } from '../../node/configuration/setting-types.ts';
import { isBearerToken } from '../../runtime/bearer-token.ts';
import { errorMessage, fileErrorMessage } from '../../runtime/errors.ts';
import { parseHttpsOrigin } from '../../snapshot/addresses/addresses.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';

export const routerConnectionSettings = {
  server: setting('server', listOfWhole('https://host:port'), {
    description:
      'The router. Default: the server of --kubeconfig. Several times: several routers, all asked with the same credentials.',
  }),
  tlsServerName: setting('tls-server-name', text('name'), {
    description: "Name that the router's certificate must carry. Default: the host of --server.",
  }),
  certificateAuthority: setting('certificate-authority', file, {
    description: "CA bundle that the router's certificate is checked against.",
  }),
  clientCertificate: setting('client-certificate', file, { description: 'Client certificate to ask with.' }),
  clientKey: setting('client-key', file, { description: 'Private key for --client-certificate.' }),
  tokenFile: setting('token-file', file, { description: 'Bearer token to ask with.' }),
  kubeconfig: setting('kubeconfig', file, {
    description:
      'Where server and credentials come from, unless flags name others. Default: the files of the variable KUBECONFIG, else ~/.kube/config, as for kubectl.',
  }),
  context: setting('context', text('name'), {
    description: 'Context of --kubeconfig. Default: its current one.',
  }),
};

type RouterConnectionFlags = v.InferOutput<v.StrictObjectSchema<typeof routerConnectionSettings, undefined>>;

/** How a router is asked. Texts are PEM; `undefined` where there is none. */
export interface RouterConnection extends Credentials {
  /** `https://host:port`. */
  readonly origin: string;
  /** The kubeconfig that names it; `undefined`: `--server` does. */
  readonly from?: string | undefined;
  /** The name its certificate must carry; default the host. */
  readonly serverName: string | undefined;
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
  const { loadClusterAccess } = await import('../../sync/node/cluster-access.ts');
  try {
    const access = await loadClusterAccess({ kubeconfig, context, more });
    const credentials = await access.credentials();
    const { clientCertificate, headers } = credentials;
    const source = [kubeconfig, ...more].join(', ');
    const isNobody = clientCertificate === undefined && headers.length === 0;
    return {
      server: access.server,
      serverName: access.serverName,
      ...credentials,
      named: isNobody ? [] : [`the credentials in ${source}`],
    };
  } catch (error) {
    issues.push(`${found?.source}: ${errorMessage(error)}`);
    return undefined;
  }
}

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
