import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { decodeJwt, type JWTPayload } from 'jose';
import * as v from 'valibot';
import { LineCounter, parseDocument } from 'yaml';
import { isBearerToken } from '../../runtime/bearer-token.ts';
import { errorMessage, fileErrorMessage } from '../../runtime/errors.ts';
import { type Clock, systemClock } from '../../runtime/time.ts';
import { joinHostPort } from '../../snapshot/addresses/addresses.ts';
import { parseCertificates, parsePair } from '../callers/pem-files.ts';
import type { ClusterAccessOptions } from '../configuration/serve-config.ts';
import { type ExpiringCertificate, firstToEnd } from './credential-watch.ts';
import type { PemPair } from './credentials.ts';

export interface ClusterAccess {
  /** URL of the API server, or of a load balancer in front of several. May have a path. */
  readonly server: string;
  /** The name that the certificate of `server` must have; default: its host. */
  readonly serverName: string | undefined;
  /** The current credentials, at most ten seconds old. @throws if a file cannot be used */
  credentials(): Promise<ClusterCredentials>;
}

/** The text of a file, as UTF-8. @throws if it cannot be read */
export type ReadFile = (path: string) => string;

const readFromDisk: ReadFile = (path) => readFileSync(path, 'utf8');

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
  /** Name, value: `Authorization`, where there is a token. */
  readonly headers: readonly string[];
}

/**
 * Reads a kubeconfig: client certificates, tokens and token files.
 *
 * @throws {ClusterAccessError} that says what is wrong with it
 */
export async function loadClusterAccess(
  options: ClusterAccessOptions,
  readFile: ReadFile = readFromDisk,
  clock: Pick<Clock, 'monotonic'> = systemClock,
): Promise<ClusterAccess> {
  let identity = identityOf(options, readFile);
  const { cluster, user, file } = identity;
  if (user.token !== undefined) checkedToken(user.token, user, file);
  const refusal = refusalOf(identity);
  if (refusal !== undefined) throw new ClusterAccessError(`${file}${refusal}`);
  let last: { readonly at: number; readonly credentials: Promise<ClusterCredentials> } | undefined;
  return {
    server: (cluster.server ?? '').replace(/\/+$/, ''),
    serverName: cluster.tlsServerName,
    credentials() {
      const at = clock.monotonic();
      if (last === undefined || at - last.at >= freshMilliseconds) {
        identity = renewedIdentity(options, identity, readFile);
        last = { at, credentials: readCredentials(identity, readFile) };
        last.credentials.catch(() => {
          last = undefined;
        });
      }
      return last.credentials;
    },
  };
}

/** The certificate and the token of a kubeconfig or pod that say when they expire, read anew. */
export async function expiringCredentials(
  options: ClusterAccessOptions,
  readFile: ReadFile = readFromDisk,
): Promise<readonly ExpiringCertificate[]> {
  // The name of the flag, without dashes.
  const name = 'inCluster' in options ? 'in-cluster' : 'kubeconfig';
  const identity = identityOf(options, readFile);
  const { user, file } = identity;
  const { clientCertificate: source, tokenFile } = user;
  const expiring: ExpiringCertificate[] = [];
  const certificate = readText(source, identity, readFile);
  if (certificate !== undefined) {
    const path = source !== undefined && 'file' in source ? source.file : file;
    expiring.push(firstToEnd({ name, path, text: certificate }));
  }
  const token = user.token ?? tokenInFile(identity, readFile);
  const claims = token === undefined ? undefined : claimsOf(token);
  if (claims?.exp !== undefined) {
    expiring.push({
      name,
      path: tokenFile ?? file,
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
  readonly file: string;
}

/** Why it cannot be used; `undefined`: it can. */
function refusalOf({ cluster, user }: KubeconfigIdentity): string | undefined {
  const { server } = cluster;
  const has = (source: unknown): boolean => source !== undefined;
  const refusals = [
    cluster.skipsTlsVerification &&
      ' has insecure-skip-tls-verify: whoever responds would be sent the credentials and be believed, so set certificate-authority instead.',
    server === undefined && `: ${cluster.path}.server is missing: give it https://host:port.`,
    server !== undefined &&
      !isHttpsUrl(server) &&
      `: ${cluster.path}.server is ${JSON.stringify(server)}, which is not https://host:port, with a port up to 65535.`,
    cluster.proxyUrl !== undefined &&
      ' has a proxy-url, which is not supported: servers are connected to directly. Remove it.',
    user.unsupported !== undefined &&
      `: ${user.unsupported} of ${nameOf(user)} is not supported: use a client certificate, or a token of a service account.`,
    // client-go refuses half a pair as well (tools/clientcmd validation.go). Without either, every request is anonymous.
    has(user.clientCertificate) &&
      !has(user.clientKey) &&
      `: ${user.path}.client-key is missing (or client-key-data), which belongs to the client-certificate of ${nameOf(user)}.`,
    has(user.clientKey) &&
      !has(user.clientCertificate) &&
      `: ${user.path}.client-certificate is missing (or client-certificate-data), which belongs to the client-key of ${nameOf(user)}.`,
    ![user.clientCertificate, user.clientKey, user.token, user.tokenFile, user.unsupported].some(has) &&
      `: ${user.path} has no credentials: give ${nameOf(user)} a client certificate with its key, or a token.`,
  ];
  return refusals.find((refusal) => refusal !== false);
}

/** May have a path (a cluster behind Rancher has one). Nothing is sent of other parts. */
function isHttpsUrl(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === 'https:' && url.hostname !== '' && url.search + url.hash + url.username === '';
}

/** Credentials that stand in the file itself are renewed, too. One that cannot be used, or is of another cluster, is left alone. */
function renewedIdentity(
  options: ClusterAccessOptions,
  last: KubeconfigIdentity,
  readFile: ReadFile,
): KubeconfigIdentity {
  try {
    const now = identityOf(options, readFile);
    const isUsable = now.cluster.server === last.cluster.server && refusalOf(now) === undefined;
    return isUsable ? now : last;
  } catch {
    return last;
  }
}

function identityOf(options: ClusterAccessOptions, readFile: ReadFile): KubeconfigIdentity {
  return 'inCluster' in options ? identityOfPod() : identityInFile(options, readFile);
}

/** Where the kubelet puts what a pod needs (k8s.io/client-go rest InClusterConfig). */
const podFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

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
      clusters: [
        { name: 'in-cluster', cluster: { server, 'certificate-authority': join(podFolder, 'ca.crt') } },
      ],
      users: [{ name: 'of the pod', user: { tokenFile: join(podFolder, 'token') } }],
    }),
    podFolder,
  );
  const [cluster, user] = [pod.clusters[0], pod.users[0]];
  if (cluster === undefined || user === undefined) throw new TypeError('It has both.');
  return { cluster, user, file: 'the in-cluster configuration' };
}

type KubeconfigOptions = Exclude<ClusterAccessOptions, { readonly inCluster: true }>;

function identityInFile(
  { kubeconfig: file, context, text }: KubeconfigOptions,
  readFile: ReadFile,
): KubeconfigIdentity {
  const config = readKubeconfig(file, () => text ?? readFile(file));
  const { contexts, clusters, users } = config;
  const name = context ?? config.currentContext;
  const chosen = contexts.find((each) => each.name === name);
  if (context !== undefined && chosen === undefined) {
    const known = contexts.map((each) => each.name).join(', ') || 'none';
    throw new ClusterAccessError(`${file} has no context ${context}; it has ${known}.`);
  }
  const cluster = clusters.find((each) => each.name === chosen?.cluster);
  if (cluster === undefined) {
    throw new ClusterAccessError(`${file} has no cluster for its context ${name ?? '(none)'}.`);
  }
  const user = users.find((each) => each.name === chosen?.user);
  if (user === undefined) throw new ClusterAccessError(`${file} has no user for its context ${name}.`);
  return { cluster, user, file };
}

function readKubeconfig(file: string, read: () => string) {
  try {
    return parseKubeconfig(read(), dirname(file));
  } catch (error) {
    // Without the error itself as cause, whose line may hold a token.
    throw new ClusterAccessError(`${file} cannot be used as a kubeconfig: ${fileErrorMessage(error)}`);
  }
}

/** The files of the identity are read each time. */
async function readCredentials(
  identity: KubeconfigIdentity,
  readFile: ReadFile,
): Promise<ClusterCredentials> {
  const { cluster, user } = identity;
  const [certificateAuthorities, certificate, key] = [
    cluster.certificateAuthority,
    user.clientCertificate,
    user.clientKey,
  ].map((source) => readText(source, identity, readFile));
  const token = user.token ?? tokenInFile(identity, readFile);
  const clientCertificate = certificate !== undefined && key !== undefined ? { certificate, key } : undefined;
  checkPem(certificateAuthorities, clientCertificate, identity);
  return {
    certificateAuthorities,
    clientCertificate,
    headers:
      token === undefined ? [] : ['Authorization', `Bearer ${checkedToken(token, user, identity.file)}`],
  };
}

function readText(
  source: PemSource,
  { user, file }: KubeconfigIdentity,
  readFile: ReadFile,
): string | undefined {
  if (source === undefined || 'text' in source) return source?.text;
  try {
    return readFile(source.file);
  } catch (error) {
    throw new Error(`${file}: ${nameOf(user)}: ${errorMessage(error)}`);
  }
}

/** An empty file is a token that cannot be sent, not nobody. */
function tokenInFile(identity: KubeconfigIdentity, readFile: ReadFile): string | undefined {
  const { tokenFile } = identity.user;
  return readText(tokenFile === undefined ? undefined : { file: tokenFile }, identity, readFile);
}

/** The error names the file and the field of a text that cannot be used. OpenSSL's message names neither. */
function checkPem(
  certificateAuthorities: string | undefined,
  clientCertificate: PemPair | undefined,
  { user, file }: KubeconfigIdentity,
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
    throw new ClusterAccessError(`${file}: ${errorMessage(error)}`, { cause: error });
  }
}

/**
 * The token as it is sent. A file ends with a line feed, which client-go removes as well (k8s.io/client-go
 * transport/token_source.go).
 *
 * @throws {ClusterAccessError} that says where it is, and never what it is
 */
function checkedToken(text: string, user: KubeconfigUser, file: string): string {
  const token = text.trim();
  if (isBearerToken(token)) return token;
  const { tokenFile } = user;
  const place =
    tokenFile === undefined
      ? `the token of ${nameOf(user)}`
      : `the token in ${tokenFile}, the tokenFile of ${nameOf(user)},`;
  throw new ClusterAccessError(
    `${file}: ${place} cannot be sent: it must be one word of printable ASCII characters.`,
  );
}

function nameOf(user: KubeconfigUser): string {
  return `user ${user.name}`;
}

type PemSource = { readonly file: string } | { readonly text: string } | undefined;

type Kubeconfig = ReturnType<typeof parseKubeconfig>;
/** `path`: where it stands in the file, for messages. */
type KubeconfigCluster = Kubeconfig['clusters'][number];
type KubeconfigUser = Kubeconfig['users'][number];

/** `undefined` where it is empty. */
const text = v.pipe(
  v.nullish(v.string(), ''),
  v.transform((given): string | undefined => given || undefined),
);
const list = <Item extends v.GenericSchema>(item: Item) => v.nullish(v.array(item), []);
/** The content that an entry of a list holds under its own key. It may be missing: all of it is optional then. */
const entry = <Entries extends v.ObjectEntries>(entries: Entries) =>
  v.pipe(v.nullish(v.unknown(), {}), v.object(entries));

const clusterFields = v.object({
  server: text,
  'certificate-authority': text,
  'certificate-authority-data': text,
  'tls-server-name': text,
  'insecure-skip-tls-verify': text,
  'proxy-url': text,
});
/**
 * Fields that are refused. A reader of a control plane's API servers has a client certificate, or the token of a
 * service account.
 */
const unsupported = [
  'exec',
  'auth-provider',
  'username',
  'password',
  'as',
  'as-uid',
  'as-groups',
  'as-user-extra',
] as const;

const userFields = entry({
  'client-certificate': text,
  'client-certificate-data': text,
  'client-key': text,
  'client-key-data': text,
  token: text,
  tokenFile: text,
  ...v.entriesFromList(unsupported, v.optional(v.unknown())),
});
/** As far as it says where the API is and who asks (k8s.io/client-go tools/clientcmd/api/v1). */
const kubeconfigSchema = v.object({
  clusters: list(v.object({ name: v.string(), cluster: clusterFields })),
  users: list(v.object({ name: v.string(), user: userFields })),
  contexts: list(v.object({ name: v.string(), context: entry({ cluster: text, user: text }) })),
  'current-context': text,
});

/**
 * Reads a kubeconfig, YAML or JSON. Paths in it are relative to its folder. Pure.
 *
 * @throws {TypeError} that says where it is wrong, and never quotes it: the line may hold a token
 */
export function parseKubeconfig(content: string, folder: string) {
  const read = v.safeParse(kubeconfigSchema, parseYaml(content));
  if (!read.success) {
    const path = v.getDotPath(read.issues[0]);
    throw new TypeError(
      path === null ? 'it holds neither clusters nor users' : `${path} is missing, or of another type`,
    );
  }
  const { clusters, users, contexts, 'current-context': currentContext } = read.output;
  return {
    clusters: clusters.map(({ name, cluster }, index) => ({
      ...clusterOf(name, cluster, folder),
      path: `clusters[${index}].cluster`,
    })),
    users: users.map(({ name, user }, index) => ({
      ...userOf(name, user, folder),
      path: `users[${index}].user`,
    })),
    contexts: contexts.map(({ name, context }) => ({ name, ...context })),
    currentContext,
  };
}

function clusterOf(name: string, cluster: v.InferOutput<typeof clusterFields>, folder: string) {
  return {
    name,
    server: cluster.server,
    certificateAuthority: pemOf(cluster, 'certificate-authority', folder),
    tlsServerName: cluster['tls-server-name'],
    skipsTlsVerification: !['false', undefined].includes(cluster['insecure-skip-tls-verify']),
    proxyUrl: cluster['proxy-url'],
  };
}

function userOf(name: string, user: v.InferOutput<typeof userFields>, folder: string) {
  const tokenFile = user.tokenFile && resolve(folder, user.tokenFile);
  return {
    name,
    clientCertificate: pemOf(user, 'client-certificate', folder),
    clientKey: pemOf(user, 'client-key', folder),
    /** Not there where `tokenFile` is, which wins. */
    token: tokenFile === undefined ? user.token : undefined,
    tokenFile,
    /** The first field of it that is not supported. */
    unsupported: unsupported.find((field) => !isEmpty(user[field])),
  };
}

/** As Go's zero values, which kubectl writes for what is not set. */
function isEmpty(value: unknown): boolean {
  return (
    (value ?? '') === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
  );
}

/** The data wins over the file, as in client-go. */
function pemOf<Field extends string>(
  fields: Readonly<Record<Field | `${Field}-data`, string | undefined>>,
  field: Field,
  folder: string,
): PemSource {
  const [data, file] = [fields[`${field}-data`], fields[field]];
  if (data !== undefined) return { text: Buffer.from(data, 'base64').toString('utf8') };
  return file === undefined ? undefined : { file: resolve(folder, file) };
}

/**
 * Scalars are texts, as client-go takes them for its fields: a context that is named 1.30 is not 1.3.
 *
 * @throws {TypeError} with the place of the error
 */
function parseYaml(content: string): unknown {
  const lines = new LineCounter();
  const document = parseDocument(content, {
    schema: 'failsafe',
    customTags: ['null'],
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
  });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    const issue =
      error.code === 'DUPLICATE_KEY' ? 'the key was given before' : 'this is neither YAML nor JSON';
    throw new TypeError(`line ${line}, column ${col}: ${issue}`);
  }
  try {
    return document.toJS();
  } catch {
    throw new TypeError('it has an alias that cannot be resolved');
  }
}
