import type { RequestOptions } from 'node:https';
import { dirname } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import type { PemPair } from '../../node/reload/credentials.ts';
import { fileErrorMessage } from '../../runtime/error-message.ts';

/** The kubeconfig, or the environment of the pod, cannot be used. The message says what to change. */
export class ClusterAccessError extends TypeError {
  override readonly name = 'ClusterAccessError';
}

/** The address of a cluster, and the identity to use there. */
export type ClusterAccessOptions =
  /** A kubeconfig file. `context`: instead of its current one. `text`: its content, if it has been read. */
  | {
      readonly kubeconfig: string;
      readonly context?: string | undefined;
      readonly text?: string | undefined;
      /** More files, as KUBECONFIG lists them: of one name the first counts. */
      readonly more?: readonly string[] | undefined;
    }
  /** The service account of the pod that this runs in. */
  | { readonly inCluster: true };

/** The credentials of a kubeconfig at one moment: files are rotated, tokens expire. */
export interface ClusterCredentials {
  /** PEM; `undefined` if the kubeconfig names none: the system's own apply. */
  readonly certificateAuthorities: string | undefined;
  readonly clientCertificate: PemPair | undefined;
  /** Name, value, name, value, …: `Authorization` and impersonation. */
  readonly headers: readonly string[];
  /** The name that the certificate of `server` must have; default: its host. */
  readonly serverName: string | undefined;
}

export interface ClusterAccess {
  /** URL of the API server, or of a load balancer in front of several. May have a path. */
  readonly server: string;
  /** What names the authorities of `server`, for messages. */
  readonly authoritiesFrom?: string | undefined;
  /** The current credentials, at most ten seconds old. @throws if a file or a plugin fails */
  credentials(): Promise<ClusterCredentials>;
}

/** How long credentials are cached: reading them can mean three files. */
const freshMilliseconds = 10_000;

/**
 * Reads a kubeconfig with everything that @kubernetes/client-node supports: files, inline data, exec plugins, OIDC,
 * token files.
 *
 * @throws {ClusterAccessError} that says what is wrong with it
 *
 * @example
 * ```ts
 * const access = await loadClusterAccess({ kubeconfig });
 * const { clientCertificate } = await access.credentials();
 * console.log(access.server.startsWith('https://'), clientCertificate !== undefined); // true true
 * ```
 */
export async function loadClusterAccess(options: ClusterAccessOptions): Promise<ClusterAccess> {
  // Loaded only when needed: it is larger than everything else together.
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  const name =
    'inCluster' in options
      ? 'the in-cluster configuration'
      : [options.kubeconfig, ...(options.more ?? [])].join(', ');
  if ('inCluster' in options) loadFromCluster(config);
  else {
    loadFromFile(config, options.kubeconfig, options.text);
    for (const file of options.more ?? []) {
      const other = new KubeConfig();
      loadFromFile(other, file);
      merge(config, other);
    }
    if (options.context !== undefined) chooseContext(config, options.context, name);
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null) {
    throw new ClusterAccessError(
      `${name} has no cluster for its context ${config.getCurrentContext() ?? '(none)'}.`,
    );
  }
  if (config.getCurrentUser() === null) {
    throw new ClusterAccessError(`${name} has no user for its context ${config.getCurrentContext()}.`);
  }
  if (cluster.skipTLSVerify) {
    throw new ClusterAccessError(
      `${name} has insecure-skip-tls-verify: readings decide where requests go, so set certificate-authority ` +
        'instead.',
    );
  }
  if (!cluster.server.startsWith('https://'))
    throw new ClusterAccessError(`${name}: ${cluster.server} is not https.`);
  if (cluster.proxyUrl !== undefined) {
    throw new ClusterAccessError(
      `${name} has a proxy-url: the sync job connects to each API server directly.`,
    );
  }
  let last: { readonly at: number; readonly credentials: Promise<ClusterCredentials> } | undefined;
  return {
    server: cluster.server.replace(/\/+$/, ''),
    authoritiesFrom: 'inCluster' in options ? cluster.caFile : `certificate-authority in ${name}`,
    credentials() {
      const at = performance.now();
      if (last === undefined || at - last.at >= freshMilliseconds) {
        last = { at, credentials: credentialsOf(config) };
        // A failure is not cached.
        last.credentials.catch(() => {
          last = undefined;
        });
      }
      return last.credentials;
    },
  };
}

function loadFromCluster(config: KubeConfig): void {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
  if (host === undefined || port === undefined) {
    throw new ClusterAccessError(
      'This is no pod of a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set. Name a kubeconfig.',
    );
  }
  config.loadFromCluster();
}

/** @param text its content, if it has been read */
function loadFromFile(config: KubeConfig, file: string, text?: string): void {
  try {
    if (text === undefined) config.loadFromFile(file);
    else {
      config.loadFromString(text);
      config.makePathsAbsolute(dirname(file));
    }
  } catch (error) {
    throw new ClusterAccessError(`${file} cannot be used as a kubeconfig: ${reasonOf(error)}`);
  }
}

/** @param files that it was loaded from */
function chooseContext(config: KubeConfig, context: string, files: string): void {
  if (config.getContextObject(context) === null) {
    const known = config.getContexts().map(({ name }) => name);
    throw new ClusterAccessError(`${files} has no context ${context}; it has ${known.join(', ') || 'none'}.`);
  }
  config.setCurrentContext(context);
}

/** Without the text that a YAML parser quotes, and without the error itself as cause: the line may hold a token. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error && error.name === 'YAMLException' && 'reason' in error))
    return fileErrorMessage(error);
  const { reason, mark } = error as Error & {
    readonly reason: unknown;
    readonly mark?: { readonly line: number; readonly column: number };
  };
  return mark === undefined ? String(reason) : `line ${mark.line + 1}, column ${mark.column + 1}: ${reason}`;
}

/** As kubectl merges them; the library's own method refuses names that come twice, and lets the last context win. */
function merge(config: KubeConfig, other: KubeConfig): void {
  const missing = <Entry extends { readonly name: string }>(
    own: readonly Entry[],
    others: readonly Entry[],
  ) => others.filter(({ name }) => !own.some((each) => each.name === name));
  config.clusters = [...config.clusters, ...missing(config.clusters, other.clusters)];
  config.users = [...config.users, ...missing(config.users, other.users)];
  config.contexts = [...config.contexts, ...missing(config.contexts, other.contexts)];
  if (!config.currentContext) config.setCurrentContext(other.currentContext);
}

async function credentialsOf(config: KubeConfig): Promise<ClusterCredentials> {
  // Its other method, `applySecurityAuthentication`, makes a connection pool for each call, which is never closed.
  const request: RequestOptions & { servername?: string } = {};
  await config.applyToHTTPSOptions(request);
  const { ca, cert, key, headers = {}, servername } = request;
  const certificate = textOf(cert);
  const privateKey = textOf(key);
  return {
    certificateAuthorities: textOf(ca),
    clientCertificate:
      certificate === undefined || privateKey === undefined ? undefined : { certificate, key: privateKey },
    headers: Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [name, String(value)],
    ),
    serverName: servername,
  };
}

/** client-node reads PEM as bytes. */
function textOf(pem: unknown): string | undefined {
  if (typeof pem === 'string') return pem;
  return pem instanceof Uint8Array ? Buffer.from(pem).toString('utf8') : undefined;
}
