import { resolve } from 'node:path';
import * as v from 'valibot';
import { LineCounter, parseDocument } from 'yaml';

export type PemSource = { readonly file: string } | { readonly text: string } | undefined;

export type Kubeconfig = ReturnType<typeof parseKubeconfig>;
export type KubeconfigCluster = ReturnType<typeof clusterOf>;
export type KubeconfigUser = ReturnType<typeof userOf>;

/** `undefined` where it is empty. */
const text = v.pipe(
  v.nullish(v.string(), ''),
  v.transform((given): string | undefined => given || undefined),
);
const list = <Item extends v.GenericSchema>(item: Item) => v.nullish(v.array(item), []);
/** What an entry of a list holds under its own key may be missing: all of it is optional then. */
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
/** Who reads the API servers of a control plane has a client certificate, or the token of a service account. */
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
    clusters: clusters.map(({ name, cluster }) => clusterOf(name, cluster, folder)),
    users: users.map(({ name, user }) => userOf(name, user, folder)),
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
    unsupported: unsupported.find((field) => (user[field] ?? '') !== ''),
  };
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
