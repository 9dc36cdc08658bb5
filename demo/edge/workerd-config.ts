/** A file of the configuration's own directory, which Cap'n Proto's `embed` reads relative to the configuration. */
type EmbeddedFile = string;

export interface WorkerdKeypair {
  readonly privateKey: EmbeddedFile;
  readonly certificateChain: EmbeddedFile;
}

export interface DurableObjectClass {
  /** Name of the binding. */
  readonly name: string;
  /** Exported by the main module. */
  readonly className: string;
}

interface WorkerdConfigOptions {
  readonly compatibilityDate: string;
  readonly compatibilityFlags: readonly string[];
  /** Modules of the built Worker: name as the others import it, and file. The main module first. */
  readonly modules: readonly { readonly name: string; readonly file: EmbeddedFile }[];
  /** `host:port`; port 0 for a free one. */
  readonly listen: string;
  readonly serving: WorkerdKeypair;
  /** Only clients with a certificate of these authorities, one in each file, may connect. Left out: everybody may. */
  readonly clientAuthorities?: readonly EmbeddedFile[] | undefined;
  /** One certificate in each file. */
  readonly destinationAuthorities: readonly EmbeddedFile[];
  /** Presented on connections of the binding `PEER_MTLS`. Left out: no such binding. */
  readonly frontProxyClient?: WorkerdKeypair | undefined;
  /** Networks that may be connected to: CIDR blocks or workerd's words for some of them. */
  readonly networks: readonly string[];
  /** Name to file with the value. */
  readonly textBindings: Readonly<Record<string, EmbeddedFile>>;
  readonly durableObjects: readonly DurableObjectClass[];
  /** Where Durable Objects keep what they store. */
  readonly storageDirectory: string;
}

/**
 * Headers that the platform sets by itself at the real edge and that a Worker may therefore believe there. Here
 * anyone could send them, so the socket removes them: a header without a value is taken out of every request.
 */
const platformHeaders = ['CF-Connecting-IP', 'CF-Worker', 'CF-Ray', 'CF-Visitor', 'True-Client-IP'];

/**
 * The configuration of a self-hosted workerd (Cap'n Proto text, workerd.capnp).
 *
 * Two ways out, so that credentials which the router cannot check never travel on a connection with the front-proxy
 * certificate: `outbound`, which the Worker's own `fetch` uses, presents none; `front-proxy` is bound as `PEER_MTLS`.
 * Neither trusts the public authorities. `cfBlobHeader` is never set: with it a header of the client would become
 * `request.cf`, and `request.cf` names callers.
 */
export function workerdConfig(options: WorkerdConfigOptions): string {
  const { frontProxyClient, durableObjects } = options;
  const services = [
    '(name = "main", worker = .router)',
    networkService('outbound', options, undefined),
    ...(frontProxyClient === undefined ? [] : [networkService('front-proxy', options, frontProxyClient)]),
    `(name = "storage", disk = (path = ${quote(options.storageDirectory)}, writable = true))`,
  ];
  const bindings = [
    ...Object.entries(options.textBindings).map(
      ([name, file]) => `(name = ${quote(name)}, text = embed ${quote(file)})`,
    ),
    ...(frontProxyClient === undefined ? [] : ['(name = "PEER_MTLS", service = "front-proxy")']),
    ...durableObjects.map(
      ({ name, className }) => `(name = ${quote(name)}, durableObjectNamespace = ${quote(className)})`,
    ),
  ];
  // The key names the directory of the stored objects: another one would lose them.
  const namespaces = durableObjects.map(
    ({ className }) =>
      `(className = ${quote(className)}, uniqueKey = ${quote(`mixed-version-proxy-${className}`)}, enableSql = true)`,
  );
  return `# Made by demo/edge/workerd-config.ts; docs/guides/edge.md says what is in it and why.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = ${list(services)},
  sockets = [
    (
      name = "https",
      address = ${quote(options.listen)},
      service = "main",
      https = (
        options = (injectRequestHeaders = ${list(platformHeaders.map((name) => `(name = ${quote(name)})`))}),
        tlsOptions = (${servingTls(options)}),
      ),
    ),
  ],
);

const router :Workerd.Worker = (
  modules = ${list(options.modules.map(({ name, file }) => `(name = ${quote(name)}, esModule = embed ${quote(file)})`))},
  compatibilityDate = ${quote(options.compatibilityDate)},
  compatibilityFlags = [${options.compatibilityFlags.map(quote).join(', ')}],
  bindings = ${list(bindings)},
  globalOutbound = "outbound",
  durableObjectNamespaces = ${list(namespaces)},
  durableObjectStorage = ${durableObjects.length === 0 ? '(none = void)' : '(localDisk = "storage")'},
);
`;
}

function servingTls({ serving, clientAuthorities }: WorkerdConfigOptions): string {
  // Without client authorities certificates are not asked for at all: none could be told from a self-made one.
  return clientAuthorities === undefined
    ? keypair(serving)
    : `${keypair(serving)}, requireClientCerts = true, ${trusted(clientAuthorities)}`;
}

function networkService(
  name: string,
  { networks, destinationAuthorities }: WorkerdConfigOptions,
  client: WorkerdKeypair | undefined,
): string {
  const tls = [...(client === undefined ? [] : [keypair(client)]), trusted(destinationAuthorities)];
  const allow = networks.map(quote).join(', ');
  return `(name = ${quote(name)}, network = (allow = [${allow}], tlsOptions = (${tls.join(', ')})))`;
}

function trusted(files: readonly EmbeddedFile[]): string {
  return `trustedCertificates = [${files.map((file) => `embed ${quote(file)}`).join(', ')}]`;
}

function keypair({ privateKey, certificateChain }: WorkerdKeypair): string {
  return `keypair = (privateKey = embed ${quote(privateKey)}, certificateChain = embed ${quote(certificateChain)})`;
}

function list(items: readonly string[]): string {
  return items.length === 0 ? '[]' : `[\n${items.map((item) => `    ${item},\n`).join('')}  ]`;
}

/** A Cap'n Proto text literal: JSON's escapes of quotes, backslashes and control characters are its own, too. */
function quote(text: string): string {
  const ascii = /^[ -~]*$/;
  if (!ascii.test(text))
    throw new TypeError(`${JSON.stringify(text)} cannot stand in a configuration: use ASCII`);
  return JSON.stringify(text);
}
