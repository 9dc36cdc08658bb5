import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { decodeJwt, type JWTPayload } from 'jose';
import * as v from 'valibot';
import { parseCertificates, parsePair } from '../../node/callers/pem-files.ts';
import { type ExpiringCertificate, firstToEnd } from '../../node/credentials/credential-watch.ts';
import type { PemPair } from '../../node/credentials/credentials.ts';
import { isBearerToken } from '../../runtime/bearer-token.ts';
import { errorMessage, fileErrorMessage } from '../../runtime/errors.ts';
import { joinHostPort } from '../../snapshot/addresses/addresses.ts';
import {
  type ExecPlugin,
  type Kubeconfig,
  type KubeconfigCluster,
  type KubeconfigUser,
  mergeKubeconfigs,
  type PemSource,
  parseKubeconfig,
} from './kubeconfig.ts';

export type ClusterAccessOptions =
  /** A kubeconfig file. `context`: instead of its current one. `text`: its content, if it has been read. */
  | {
      readonly kubeconfig: string;
      readonly context?: string | undefined;
      readonly text?: string | undefined;
      /** More files, as KUBECONFIG lists them: of one name the first counts. */
      readonly more?: readonly string[] | undefined;
    }
  | { readonly inCluster: true };

export interface ClusterAccess {
  /** URL of the API server, or of a load balancer in front of several. May have a path. */
  readonly server: string;
  /** The name that the certificate of `server` must have; default: its host. */
  readonly serverName: string | undefined;
  /** What names the authorities of `server`, for messages. */
  readonly authoritiesFrom?: string | undefined;
  /** The current credentials, at most ten seconds old. @throws if a file or a plugin fails */
  credentials(): Promise<ClusterCredentials>;
}

/** How long credentials are cached: reading them can mean three files. */
const freshMilliseconds = 10_000;

/** The kubeconfig, or the environment of the pod, cannot be used. The message says what to change. */
export class ClusterAccessError extends TypeError {
  override readonly name = 'ClusterAccessError';
}

/** The credentials of a kubeconfig at one moment: files are rotated, tokens expire. */
export interface ClusterCredentials {
  /** PEM; `undefined` if the kubeconfig names none: the system's own apply. */
  readonly certificateAuthorities: string | undefined;
  readonly clientCertificate: PemPair | undefined;
  /** Name, value, name, value, …: `Authorization` and impersonation. */
  readonly headers: readonly string[];
}

/**
 * Reads a kubeconfig: files, inline data, tokens and token files, exec plugins, impersonation.
 *
 * @param signal ends an exec plugin that is running, and starts no other
 * @throws {ClusterAccessError} that says what is wrong with it
 */
export async function loadClusterAccess(
  options: ClusterAccessOptions,
  signal?: AbortSignal,
): Promise<ClusterAccess> {
  const identity = identityOf(options);
  const { cluster, user, files } = identity;
  if (user.token !== undefined) checkedToken(user.token, user, files);
  const { server = `cluster ${cluster.name}` } = cluster;
  const refusals = [
    cluster.skipsTlsVerification &&
      ' has insecure-skip-tls-verify: whoever responds would be sent the credentials and be believed, so set certificate-authority instead.',
    !server.startsWith('https://') && `: ${server} is not https.`,
    cluster.proxyUrl !== undefined &&
      ' has a proxy-url, which is not supported: servers are connected to directly. Remove it.',
    user.authProvider !== undefined &&
      `: the auth-provider ${user.authProvider} of ${nameOf(user)} is not supported: use an exec plugin.`,
  ];
  for (const refusal of refusals) if (refusal !== false) throw new ClusterAccessError(`${files}${refusal}`);
  const readCredentials = credentialsOf(identity, signal);
  let last: { readonly at: number; readonly credentials: Promise<ClusterCredentials> } | undefined;
  return {
    server: server.replace(/\/+$/, ''),
    serverName: cluster.tlsServerName,
    authoritiesFrom: 'inCluster' in options ? authoritiesOfPod : `certificate-authority in ${files}`,
    credentials() {
      const at = performance.now();
      if (last === undefined || at - last.at >= freshMilliseconds) {
        last = { at, credentials: readCredentials() };
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
 */
export async function expiringCredentials(
  options: ClusterAccessOptions,
): Promise<readonly ExpiringCertificate[]> {
  // Of the flag, without dashes.
  const name = 'inCluster' in options ? 'in-cluster' : 'kubeconfig';
  const identity = identityOf(options);
  const { user, files } = identity;
  const { clientCertificate: source, tokenFile } = user;
  const expiring: ExpiringCertificate[] = [];
  const certificate = readText(source, identity);
  if (certificate !== undefined) {
    const path = source !== undefined && 'file' in source ? source.file : files;
    expiring.push(firstToEnd({ name, path, text: certificate }));
  }
  const token = user.token ?? tokenInFile(identity);
  const claims = token === undefined ? undefined : claimsOf(token);
  if (claims?.exp !== undefined) {
    expiring.push({
      name,
      path: tokenFile ?? files,
      subject: `the token of ${claims.sub ?? nameOf(user)}`,
      notBefore: (claims.nbf ?? claims.iat ?? 0) * 1000,
      notAfter: claims.exp * 1000,
    });
  }
  return expiring;
}

/** `undefined`: it is no JSON Web Token. */
function claimsOf(token: string): JWTPayload | undefined {
  try {
    return decodeJwt(token);
  } catch {
    return undefined;
  }
}

interface KubeconfigIdentity {
  readonly cluster: KubeconfigCluster;
  readonly user: KubeconfigUser;
  readonly files: string;
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
  const server = `https://${joinHostPort(host, port)}`;
  const pod = parseKubeconfig(
    JSON.stringify({
      clusters: [{ name: 'in-cluster', cluster: { server, 'certificate-authority': authoritiesOfPod } }],
      users: [{ name: 'of the pod', user: { tokenFile: join(podFolder, 'token') } }],
    }),
    podFolder,
  );
  const [cluster, user] = [pod.clusters[0], pod.users[0]];
  if (cluster === undefined || user === undefined) throw new TypeError('It has both.');
  return { cluster, user, files: 'the in-cluster configuration' };
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
    throw new ClusterAccessError(`${files} has no cluster for its context ${name ?? '(none)'}.`);
  }
  const user = users.find((each) => each.name === chosen?.user);
  if (user === undefined) throw new ClusterAccessError(`${files} has no user for its context ${name}.`);
  return { cluster, user, files };
}

function readKubeconfig(file: string, text?: string): Kubeconfig {
  try {
    return parseKubeconfig(text ?? readFileSync(file, 'utf8'), dirname(file));
  } catch (error) {
    // Without the error itself as cause, whose line may hold a token.
    throw new ClusterAccessError(`${file} cannot be used as a kubeconfig: ${fileErrorMessage(error)}`);
  }
}

/**
 * What reads the credentials of a user: its files are read each time, its exec plugin is asked when what it gave has
 * expired. Of several kinds a token wins over a token file's and a plugin's, as in client-go.
 */
function credentialsOf(
  identity: KubeconfigIdentity,
  signal?: AbortSignal,
): () => Promise<ClusterCredentials> {
  const { cluster, user, files } = identity;
  const readPem = (source: PemSource) => readText(source, identity);
  const plugin =
    user.exec &&
    execPluginCredentials(user.exec, cluster, () => readPem(cluster.certificateAuthority), { signal });
  return async () => {
    const [certificateAuthorities, certificate, key] = [
      cluster.certificateAuthority,
      user.clientCertificate,
      user.clientKey,
    ].map(readPem);
    const given = user.token ?? tokenInFile(identity);
    const ofPlugin =
      given === undefined
        ? await plugin?.().catch((error: unknown) => {
            const { command } = user.exec ?? {};
            throw new Error(`${files}: the exec plugin ${command} of ${nameOf(user)} ${errorMessage(error)}`);
          })
        : undefined;
    const token = given ?? ofPlugin?.token;
    const clientCertificate =
      certificate !== undefined && key !== undefined ? { certificate, key } : ofPlugin?.clientCertificate;
    checkPem(certificateAuthorities, clientCertificate, identity);
    // RFC 9110 section 5.5.
    if (!user.impersonation.every((text) => /^[\t\x20-\x7e\x80-\xff]*$/.test(text))) {
      throw new ClusterAccessError(
        `${files}: as of ${nameOf(user)} has a character that no header may have.`,
      );
    }
    return {
      certificateAuthorities,
      clientCertificate,
      headers: [
        ...user.impersonation,
        ...(token === undefined ? [] : ['Authorization', `Bearer ${checkedToken(token, user, files)}`]),
      ],
    };
  };
}

function readText(source: PemSource, { user, files }: KubeconfigIdentity): string | undefined {
  if (source === undefined || 'text' in source) return source?.text;
  try {
    return readFileSync(source.file, 'utf8');
  } catch (error) {
    throw new Error(`${files}: ${nameOf(user)}: ${errorMessage(error)}`);
  }
}

/** An empty file is a token that cannot be sent, not nobody. */
function tokenInFile(identity: KubeconfigIdentity): string | undefined {
  const { tokenFile } = identity.user;
  return readText(tokenFile === undefined ? undefined : { file: tokenFile }, identity);
}

/** What OpenSSL says of such a text names neither the file nor the field. */
function checkPem(
  certificateAuthorities: string | undefined,
  clientCertificate: PemPair | undefined,
  { user, files }: KubeconfigIdentity,
): void {
  try {
    if (certificateAuthorities !== undefined) {
      parseCertificates({ pem: certificateAuthorities, source: 'certificate-authority' });
    }
    if (clientCertificate !== undefined) {
      const source = (field: string) => `${field} of ${nameOf(user)}`;
      parsePair(
        { pem: clientCertificate.certificate, source: source('client-certificate') },
        { pem: clientCertificate.key, source: source('client-key') },
      );
    }
  } catch (error) {
    throw new ClusterAccessError(`${files}: ${errorMessage(error)}`, { cause: error });
  }
}

/**
 * The token as it is sent. A file ends with a line feed, which client-go removes as well (k8s.io/client-go
 * transport/token_source.go).
 *
 * @throws {ClusterAccessError} that says where it is, and never what it is
 */
function checkedToken(text: string, user: KubeconfigUser, files: string): string {
  const token = text.trim();
  if (isBearerToken(token)) return token;
  throw new ClusterAccessError(
    `${files}: ${placeOfToken(user)} cannot be sent: it must be one word of printable ASCII characters.`,
  );
}

function nameOf(user: KubeconfigUser): string {
  return `user ${user.name}`;
}

/** Where the token of a user comes from, in the order in which one wins over the other. */
function placeOfToken(user: KubeconfigUser): string {
  const { token, tokenFile } = user;
  if (token !== undefined) return `the token of ${nameOf(user)}`;
  if (tokenFile !== undefined) return `the token in ${tokenFile}, the tokenFile of ${nameOf(user)},`;
  return `the token that the exec plugin ${user.exec?.command} gives for ${nameOf(user)}`;
}

interface PluginCredentials {
  readonly token: string | undefined;
  readonly clientCertificate: PemPair | undefined;
}

const text = v.nullish(v.string(), '');
const execCredential = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({
    status: v.object({
      token: text,
      clientCertificateData: text,
      clientKeyData: text,
      expirationTimestamp: text,
    }),
  }),
);

/**
 * How long credentials are used that have no expiry. Milliseconds. client-go asks for others when it gets a 401, of which
 * nothing is heard here: a token that expires all the same would be sent until the next start.
 */
const withoutExpiry = 60_000;

/** Milliseconds that a plugin may run. client-go waits for ever, as somebody may have to type: here nobody can. */
const longestRun = 30_000;

interface RunLimits {
  readonly timeLimit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A token is some kilobytes; nothing that is larger is one. */
const outputBytes = 1024 * 1024;

/**
 * Runs an exec plugin (k8s.io/client-go plugin/pkg/client/auth/exec) whenever what it gave has expired: without an expiry
 * after a minute. It runs once at a time: who asks meanwhile waits for the run that is under way.
 *
 * @param cluster that it is told of, where it wants to be (`provideClusterInfo`)
 * @param limits milliseconds after which it is ended, default 30,000; and what ends it sooner
 * @returns what asks it; it throws an error whose message is a predicate that follows the plugin's name. Of the plugin's
 *   output it tells nothing, which may hold a token; of what it says on standard error everything
 */
export function execPluginCredentials(
  plugin: ExecPlugin,
  cluster: KubeconfigCluster,
  certificateAuthorities: () => string | undefined,
  limits: RunLimits = {},
): () => Promise<PluginCredentials> {
  let last: { readonly credentials: PluginCredentials; readonly expires: number } | undefined;
  let underWay: Promise<PluginCredentials> | undefined;
  const renewed = async (): Promise<PluginCredentials> => {
    const info = plugin.provideClusterInfo ? clusterInfo(cluster, certificateAuthorities()) : {};
    last = readOutput(await run(plugin, { interactive: false, ...info }, limits));
    return last.credentials;
  };
  return async () => {
    if (last !== undefined && last.expires > Date.now()) return last.credentials;
    underWay ??= renewed().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}

/** As the plugins' API has it (k8s.io/client-go pkg/apis/clientauthentication/v1 Cluster). */
function clusterInfo(cluster: KubeconfigCluster, certificateAuthorities: string | undefined): object {
  return {
    cluster: {
      server: cluster.server,
      'tls-server-name': cluster.tlsServerName,
      'certificate-authority-data':
        certificateAuthorities === undefined
          ? undefined
          : Buffer.from(certificateAuthorities).toString('base64'),
    },
  };
}

async function run(
  { apiVersion, command, args, env, installHint }: ExecPlugin,
  spec: object,
  { timeLimit = longestRun, signal }: RunLimits,
): Promise<string> {
  const environment = {
    ...process.env,
    ...Object.fromEntries(env.map(({ name, value }) => [name, value])),
    KUBERNETES_EXEC_INFO: JSON.stringify({ apiVersion, kind: 'ExecCredential', spec }),
  };
  // Loaded where it is needed: `status` is fast without it.
  const { execFile } = await import('node:child_process');
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    // SIGKILL: a plugin that hangs may not heed anything else. `signal` among the options would send SIGTERM.
    const options = {
      env: environment,
      maxBuffer: outputBytes,
      timeout: timeLimit,
      killSignal: 'SIGKILL',
    } as const;
    const kill = () => child.kill('SIGKILL');
    const child = execFile(command, args, options, (error, stdout, stderr) => {
      signal?.removeEventListener('abort', kill);
      if (error === null) resolve(stdout);
      else if (child.pid === undefined) {
        reject(new Error(`cannot be run: ${errorMessage(error)}${installHint ? `. ${installHint}` : ''}`));
      } else {
        const words = stderr.trim().replaceAll(/\s*\n\s*/g, '; ') || 'it says nothing on standard error';
        const hasHung = child.signalCode === 'SIGKILL' && child.killed && signal?.aborted !== true;
        reject(
          new Error(
            `${hasHung ? `did not end within ${timeLimit / 1000} s and was killed` : 'failed'}: ${words}`,
          ),
        );
      }
    });
    signal?.addEventListener('abort', kill);
    // There is nobody to type: one that asks is told that there is no more input.
    child.stdin?.on('error', () => undefined).end();
  });
}

function readOutput(output: string): { readonly credentials: PluginCredentials; readonly expires: number } {
  const read = v.safeParse(execCredential, output);
  // Without the parser's message, which quotes it.
  if (!read.success) throw new Error('wrote something else than an ExecCredential with its status');
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = read.output.status;
  const hasPair = clientCertificateData !== '' && clientKeyData !== '';
  if (token === '' && !hasPair) throw new Error('gave neither a token nor a certificate with its key');
  const expires = Date.parse(expirationTimestamp);
  return {
    credentials: {
      token: token || undefined,
      clientCertificate: hasPair ? { certificate: clientCertificateData, key: clientKeyData } : undefined,
    },
    expires: Number.isNaN(expires) ? Date.now() + withoutExpiry : expires,
  };
}
