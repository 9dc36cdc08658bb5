import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ExpiringCertificate } from '../../node/credentials/credential-watch.ts';
import { fileErrorMessage } from '../../runtime/errors.ts';
import { joinHostPort } from '../../snapshot/addresses/addresses.ts';
import { type Kubeconfig, mergeKubeconfigs, parseKubeconfig } from './kubeconfig.ts';
import {
  ClusterAccessError,
  type ClusterCredentials,
  checkedToken,
  credentialsOf,
  expiringCredentialsOf,
  type KubeconfigIdentity,
} from './kubeconfig-credentials.ts';

export { ClusterAccessError, type ClusterCredentials };

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
 * Reads a kubeconfig: files, inline data, tokens and token files, exec plugins, impersonation.
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
  const identity = identityOf(options);
  const { cluster, user, files } = identity;
  if (user.token !== undefined) checkedToken(user.token, user, files);
  if (cluster.skipsTlsVerification) {
    throw new ClusterAccessError(
      `${files} has insecure-skip-tls-verify: whoever responds would be sent the credentials and be believed, so set ` +
        'certificate-authority instead.',
    );
  }
  if (!cluster.server.startsWith('https://')) {
    throw new ClusterAccessError(`${files}: ${cluster.server || `cluster ${cluster.name}`} is not https.`);
  }
  if (cluster.proxyUrl !== undefined) {
    throw new ClusterAccessError(
      `${files} has a proxy-url, which is not supported: servers are connected to directly. Remove it.`,
    );
  }
  const readCredentials = credentialsOf(identity);
  let last: { readonly at: number; readonly credentials: Promise<ClusterCredentials> } | undefined;
  return {
    server: cluster.server.replace(/\/+$/, ''),
    authoritiesFrom: 'inCluster' in options ? authoritiesOfPod : `certificate-authority in ${files}`,
    credentials() {
      const at = performance.now();
      if (last === undefined || at - last.at >= freshMilliseconds) {
        last = { at, credentials: readCredentials() };
        // A failure is not cached.
        last.credentials.catch(() => {
          last = undefined;
        });
      }
      return last.credentials;
    },
  };
}

/**
 * The certificate and the token of a kubeconfig or pod that say when they expire, read anew. Not those of an exec plugin,
 * which is asked for others.
 *
 * @throws {ClusterAccessError} as `loadClusterAccess`, and an error when a file cannot be read
 */
export function expiringCredentials(options: ClusterAccessOptions): Promise<readonly ExpiringCertificate[]> {
  const name = 'inCluster' in options ? 'in-cluster' : 'kubeconfig';
  return expiringCredentialsOf(identityOf(options), name);
}

function identityOf(options: ClusterAccessOptions): KubeconfigIdentity {
  return 'inCluster' in options ? identityOfPod() : identityInFiles(options);
}

/** Where the kubelet puts what a pod needs (k8s.io/client-go rest InClusterConfig). */
const podFolder = '/var/run/secrets/kubernetes.io/serviceaccount';
const authoritiesOfPod = join(podFolder, 'ca.crt');

function identityOfPod(): KubeconfigIdentity {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
  if (host === undefined || port === undefined) {
    throw new ClusterAccessError(
      'This is no pod of a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set. Name a kubeconfig.',
    );
  }
  return {
    cluster: {
      name: 'in-cluster',
      server: `https://${joinHostPort(host, port)}`,
      certificateAuthority: { file: authoritiesOfPod },
      tlsServerName: undefined,
      skipsTlsVerification: false,
      proxyUrl: undefined,
    },
    user: {
      name: 'of the pod',
      clientCertificate: undefined,
      clientKey: undefined,
      token: undefined,
      tokenFile: join(podFolder, 'token'),
      exec: undefined,
      authProvider: undefined,
      impersonation: [],
    },
    files: 'the in-cluster configuration',
  };
}

type KubeconfigOptions = Exclude<ClusterAccessOptions, { readonly inCluster: true }>;

function identityInFiles({ kubeconfig, context, text, more = [] }: KubeconfigOptions): KubeconfigIdentity {
  const files = [kubeconfig, ...more].join(', ');
  const config = more
    .map((file) => readKubeconfig(file))
    .reduce(mergeKubeconfigs, readKubeconfig(kubeconfig, text));
  const { contexts, clusters, users } = config;
  const name = context ?? config.currentContext;
  const chosen = contexts.find((each) => each.name === name);
  if (context !== undefined && chosen === undefined) {
    const known = contexts.map((each) => each.name).join(', ') || 'none';
    throw new ClusterAccessError(`${files} has no context ${context}; it has ${known}.`);
  }
  const cluster = clusters.find((each) => each.name === chosen?.cluster);
  if (cluster === undefined) {
    throw new ClusterAccessError(`${files} has no cluster for its context ${name || '(none)'}.`);
  }
  const user = users.find((each) => each.name === chosen?.user);
  if (user === undefined) throw new ClusterAccessError(`${files} has no user for its context ${name}.`);
  return { cluster, user, files };
}

/** @param text its content, if it has been read */
function readKubeconfig(file: string, text?: string): Kubeconfig {
  try {
    return parseKubeconfig(text ?? readFileSync(file, 'utf8'), dirname(file));
  } catch (error) {
    // Without the error itself as cause, whose line may hold a token.
    throw new ClusterAccessError(`${file} cannot be used as a kubeconfig: ${fileErrorMessage(error)}`);
  }
}
