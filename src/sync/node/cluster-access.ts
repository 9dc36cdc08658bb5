import type { RequestOptions } from 'node:https';
import { dirname } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { ClusterAccessError } from './cluster-access-error.ts';

/** Where a cluster is, and as whom to go there. */
export type ClusterAccessOptions =
  /** A kubeconfig file; `context` in place of its current one; `text` what it holds, where it has been read already. */
  | {
      readonly kubeconfig: string;
      readonly context?: string | undefined;
      readonly text?: string | undefined;
    }
  /** The service account of the pod that this runs in. */
  | { readonly inCluster: true };

/** What a kubeconfig says at one moment: files are rotated, tokens expire. */
export interface ClusterCredentials {
  /** PEM; `undefined` where the kubeconfig names none, and the system's own count. */
  readonly certificateAuthorities: string | undefined;
  readonly clientCertificate: { readonly certificate: string; readonly key: string } | undefined;
  /** Name, value, name, value, …: `Authorization`, and whom to impersonate. */
  readonly headers: readonly string[];
  /** The name that the certificate at `server` must carry; default its host. */
  readonly serverName: string | undefined;
}

export interface ClusterAccess {
  /** URL of the API server, or of what stands in front of several. May have a path. */
  readonly server: string;
  /** As they are now; read again at most every ten seconds. @throws when a file or a plugin fails */
  credentials(): Promise<ClusterCredentials>;
}

/** How long credentials are taken as read: each of them can mean three files. */
const freshMilliseconds = 10_000;

/**
 * Reads a kubeconfig, with everything that @kubernetes/client-node knows of: files, inline data, exec plugins,
 * OIDC, token files.
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
  // Loaded only where it is used: it is larger than all else together.
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  const name = 'inCluster' in options ? 'the in-cluster configuration' : options.kubeconfig;
  if ('inCluster' in options) loadFromCluster(config);
  else loadFromFile(config, options);
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
      `${name} turns off the check of the server's certificate: what is read decides where requests go, so ` +
        'name its certificate-authority instead.',
    );
  }
  if (!cluster.server.startsWith('https://'))
    throw new ClusterAccessError(`${name}: ${cluster.server} is not https.`);
  if (cluster.proxyUrl !== undefined) {
    throw new ClusterAccessError(
      `${name} has a proxy-url: the sync job reaches API servers directly, each by its address.`,
    );
  }
  let last: { readonly at: number; readonly credentials: Promise<ClusterCredentials> } | undefined;
  return {
    server: cluster.server.replace(/\/+$/, ''),
    credentials() {
      const at = performance.now();
      if (last === undefined || at - last.at >= freshMilliseconds) {
        last = { at, credentials: credentialsOf(config) };
        // A failure counts for those who asked; the next one asks again.
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

function loadFromFile(
  config: KubeConfig,
  { kubeconfig: file, context, text }: Exclude<ClusterAccessOptions, { readonly inCluster: true }>,
): void {
  try {
    if (text === undefined) config.loadFromFile(file);
    else {
      config.loadFromString(text);
      config.makePathsAbsolute(dirname(file));
    }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ClusterAccessError(`${file} cannot be used as a kubeconfig: ${reason}`, { cause });
  }
  if (context === undefined) return;
  if (config.getContextObject(context) === null) {
    const known = config.getContexts().map(({ name }) => name);
    throw new ClusterAccessError(`${file} has no context ${context}; it has ${known.join(', ') || 'none'}.`);
  }
  config.setCurrentContext(context);
}

async function credentialsOf(config: KubeConfig): Promise<ClusterCredentials> {
  // Its other way, `applySecurityAuthentication`, makes a connection pool for each call that nobody closes.
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

/** PEM, which client-node reads as bytes. */
function textOf(pem: unknown): string | undefined {
  if (typeof pem === 'string') return pem;
  return pem instanceof Uint8Array ? Buffer.from(pem).toString('utf8') : undefined;
}
