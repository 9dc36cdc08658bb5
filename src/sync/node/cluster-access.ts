import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import * as v from 'valibot';
import { fileErrorMessage } from '../../runtime/error-message.ts';
import {
  ClusterAccessError,
  type ClusterCredentials,
  checkedToken,
  credentialsOf,
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
  const { KubeConfig, loadYaml } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  const name =
    'inCluster' in options
      ? 'the in-cluster configuration'
      : [options.kubeconfig, ...(options.more ?? [])].join(', ');
  if ('inCluster' in options) loadFromCluster(config);
  else {
    loadFromFile(config, options.kubeconfig, loadYaml, options.text);
    for (const file of options.more ?? []) {
      const other = new KubeConfig();
      loadFromFile(other, file, loadYaml);
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
  const user = config.getCurrentUser();
  if (user === null) {
    throw new ClusterAccessError(`${name} has no user for its context ${config.getCurrentContext()}.`);
  }
  if (user.token) checkedToken(user.token, user, name);
  if (cluster.skipTLSVerify) {
    throw new ClusterAccessError(
      `${name} has insecure-skip-tls-verify: whoever responds would be sent the credentials and be believed, so set ` +
        'certificate-authority instead.',
    );
  }
  if (!cluster.server.startsWith('https://'))
    throw new ClusterAccessError(`${name}: ${cluster.server} is not https.`);
  if (cluster.proxyUrl !== undefined) {
    throw new ClusterAccessError(
      `${name} has a proxy-url, which is not supported: servers are connected to directly. Remove it.`,
    );
  }
  let last: { readonly at: number; readonly credentials: Promise<ClusterCredentials> } | undefined;
  return {
    server: cluster.server.replace(/\/+$/, ''),
    authoritiesFrom: 'inCluster' in options ? cluster.caFile : `certificate-authority in ${name}`,
    credentials() {
      const at = performance.now();
      if (last === undefined || at - last.at >= freshMilliseconds) {
        last = { at, credentials: credentialsOf(config, name) };
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
function loadFromFile(
  config: KubeConfig,
  file: string,
  loadYaml: (text: string) => unknown,
  text?: string,
): void {
  try {
    const content = text ?? readFileSync(file, 'utf8');
    config.loadFromString(content);
    config.makePathsAbsolute(dirname(file));
    useTokenFiles(config, loadYaml(content), dirname(file));
  } catch (error) {
    throw new ClusterAccessError(`${file} cannot be used as a kubeconfig: ${reasonOf(error)}`);
  }
}

const userList = v.object({ users: v.array(v.unknown()) });
const userWithTokenFile = v.object({
  name: v.string(),
  user: v.object({ tokenFile: v.pipe(v.string(), v.nonEmpty()) }),
});

/**
 * The library knows the field `tokenFile` by another name. It wins over `token` (k8s.io/client-go clientcmd/api/types.go
 * AuthInfo), and is read again each minute.
 */
function useTokenFiles(config: KubeConfig, document: unknown, folder: string): void {
  const list = v.safeParse(userList, document);
  const users = (list.success ? list.output.users : []).map((user) => v.safeParse(userWithTokenFile, user));
  const paths = new Map(
    users.flatMap(({ success, output }) =>
      success ? [[output.name, resolve(folder, output.user.tokenFile)]] : [],
    ),
  );
  config.users = config.users.map((user) => {
    const tokenFile = paths.get(user.name);
    if (tokenFile === undefined) return user;
    const { token: _token, ...others } = user;
    return { ...others, authProvider: { name: 'tokenFile', config: { tokenFile } } };
  });
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
