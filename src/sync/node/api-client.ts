import type { ClusterCredentials } from '../../node/credentials/cluster-access.ts';
import {
  type HttpsResponse,
  type HttpsStream,
  type OpenServerClient,
  openHttpsClient,
  type ServerClient,
} from '../../node/destinations/https-client.ts';
import { untrustedCertificateAdvice } from '../../node/destinations/tls-dialer.ts';
import { errorMessage } from '../../runtime/errors.ts';
import type { AddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import {
  jsonType,
  ReadError,
  type ServerDocument,
  type ServerDocuments,
  type WatchConnection,
  withoutQuery,
} from '../documents/server-documents.ts';

/** How an API server is connected to. */
export interface Endpoint {
  /** `https://host:port`. */
  readonly origin: string;
  /** The name that its certificate must have. Default: the host. */
  readonly serverName?: string | undefined;
  /** PEM, asked for each request: bundles are replaced. Default: those of the credentials. */
  readonly certificateAuthorities?: (() => string | undefined) | undefined;
  /** For an address that an object of the cluster names: judged at each dial. Default: every address may be dialled. */
  readonly addressPolicy?: AddressPolicy | undefined;
}

interface ApiClientOptions {
  /** Asked before each request: files are rotated, tokens expire. */
  readonly credentials: () => Promise<ClusterCredentials>;
  readonly via?: string | undefined;
  /** Default: that of a router which reads the cluster itself. */
  readonly userAgent?: string | undefined;
  /** Default: over HTTPS from this process. */
  readonly openClient?: OpenServerClient | undefined;
}

/** The name in the certificate of each API server. */
export const apiServerName = 'kubernetes.default.svc';

const documentLimits = { responseTimeout: 10_000, longestResponse: 64 * 1024 * 1024 };
/** A caller that lists gives up earlier. The list of CustomResourceDefinitions can be tens of MB. */
const listLimits = { responseTimeout: 60_000, longestResponse: 256 * 1024 * 1024 };

/** Reads API servers with one identity, whose certificates and tokens are rotated. */
export class ApiClient {
  readonly #options: ApiClientOptions;
  readonly #clients = new Map<string, { readonly client: ServerClient; readonly made: string }>();
  readonly #documents = new Map<string, ServerDocuments>();
  readonly #byTag = new Map<string, WeakRef<ServerDocument>>();
  #watched: ReadonlySet<string> = new Set();

  constructor(options: ApiClientOptions) {
    this.#options = options;
  }

  /**
   * The documents of one server, the same object for the same endpoint. A document that has not changed is not sent again
   * (RFC 9110 section 13.1.2).
   */
  documentsAt(endpoint: Endpoint, limits = documentLimits): ServerDocuments {
    const opened = this.#documents.get(keyOf(endpoint));
    if (opened !== undefined) return opened;
    const known = new Map<string, { readonly etag: string | undefined; readonly document: ServerDocument }>();
    const documents: ServerDocuments = {
      get: async (path, accept, signal) => {
        const key = `${accept} ${path}`;
        const before = known.get(key);
        const condition = before?.etag === undefined ? [] : ['if-none-match', before.etag];
        const response = await this.#send(path, endpoint, await this.#credentials(), (client, headers) =>
          client.ask({ path, headers: [...headers, ...accepting(accept), ...condition], signal }, limits),
        );
        if (response.status === 304 && before !== undefined) return before.document;
        const { etag } = response.headers;
        const isKept = etag !== undefined ? !isReadOnce(path) : isIndex(path);
        if (response.status !== 200 || !isKept) {
          known.delete(key);
          return documentOf(response);
        }
        const document = this.#alike(etag ?? `${key} ${response.text.length}`, documentOf(response));
        known.set(key, { etag, document });
        return document;
      },
      renewConnections: () => {
        this.#clients.get(keyOf(endpoint))?.client.retire();
        this.#clients.delete(keyOf(endpoint));
      },
    };
    this.#documents.set(keyOf(endpoint), documents);
    return documents;
  }

  /**
   * Servers of one version say the same, under one ETag: one object for all of them, so that what it says is read once.
   * @param etag or what else documents that are the same have in common
   */
  #alike(etag: string, document: ServerDocument): ServerDocument {
    const other = this.#byTag.get(etag)?.deref();
    if (other?.body === document.body && other.contentType === document.contentType) return other;
    // Each change of a definition is one more.
    if (this.#byTag.size > 1_000) this.#byTag.clear();
    this.#byTag.set(etag, new WeakRef(document));
    return document;
  }

  /**
   * Lists and watches through the first endpoint, and after a failure through the next. All of them have the same objects
   * and the same resource versions.
   *
   * @param endpointsNow in order of preference; at least one
   */
  watching(endpointsNow: () => readonly Endpoint[]): WatchConnection {
    /** Index of the endpoint in use; rises with each failure, once for all requests that failed at the same one. */
    let turn = 0;
    const next = (begun: number): void => {
      if (turn === begun) turn++;
    };
    const endpoints = () => {
      const now = endpointsNow();
      this.#watched = new Set(now.map(({ origin }) => origin));
      return now.filter(({ origin }, place) => now.findIndex((each) => each.origin === origin) === place);
    };
    // A failure that concerns all paths is told once for all: of the server, whatever it was asked for.
    const ask = async <Result>(
      all: readonly Endpoint[],
      credentials: ClusterCredentials,
      send: (client: ServerClient, headers: readonly string[]) => Promise<Result>,
    ): Promise<Result> => {
      const endpoint = all[turn % all.length] ?? noServer();
      return this.#send(endpoint.origin, endpoint, credentials, send);
    };
    return {
      /** Asks one after the other until one responds. Else the reason is that of the first, the preferred one. */
      get: async (path, accept, signal) => {
        const credentials = await this.#credentials();
        const all = endpoints();
        let first: Promise<ServerDocument> | undefined;
        for (const _endpoint of all) {
          const begun = turn;
          const response = ask(all, credentials, (client, headers) =>
            client.ask({ path, headers: [...headers, ...accepting(accept)], signal }, listLimits),
          ).then(documentOf);
          first ??= response;
          const document = await response.catch(() => undefined);
          // A load balancer without a server behind it, a server that is shutting down or overloaded: another may work.
          if (document !== undefined && !isTransient(document.status)) return document;
          next(begun);
          if (signal?.aborted === true) break;
        }
        return first ?? noServer();
      },
      watch: async (path, signal) => {
        const credentials = await this.#credentials();
        const all = endpoints();
        const begun = turn;
        const opening = ask(all, credentials, (client, headers) =>
          client.open({ path, headers: [...headers, 'accept', jsonType], signal }),
        );
        opening.catch(() => next(begun));
        const response = await opening;
        if (isTransient(response.status)) next(begun);
        if (response.status !== 200) response.discard();
        return { status: response.status, chunks: chunksOf(response, () => next(begun)) };
      },
    };
  }

  /** The DNS names in a server's certificate. @throws when it cannot be verified */
  async servingNames(endpoint: Endpoint, signal: AbortSignal): Promise<readonly string[]> {
    return this.#clientTo(endpoint, await this.#credentials()).servingNames(signal);
  }

  /** Forgets all other documents, and closes the connections that nobody uses. */
  retain(used: ReadonlySet<ServerDocuments>): void {
    for (const [key, documents] of this.#documents) if (!used.has(documents)) this.#documents.delete(key);
    for (const [key, { client }] of this.#clients) {
      if (this.#documents.has(key) || this.#watched.has(key.split(' ', 1)[0] ?? '')) continue;
      this.#clients.delete(key);
      client.retire();
    }
  }

  close(): void {
    for (const { client } of this.#clients.values()) client.close();
  }

  #credentials(): Promise<ClusterCredentials> {
    return this.#options.credentials().catch((cause: unknown) => {
      throw unreachable('the credentials', cause);
    });
  }

  async #send<Result>(
    place: string,
    endpoint: Endpoint,
    credentials: ClusterCredentials,
    send: (client: ServerClient, headers: readonly string[]) => Promise<Result>,
  ): Promise<Result> {
    const { via, userAgent = 'mixed-version-proxy-reader' } = this.#options;
    const headers = [...(via === undefined ? [] : ['via', via]), 'user-agent', userAgent];
    try {
      return await send(this.#clientTo(endpoint, credentials), [...credentials.headers, ...headers]);
    } catch (cause) {
      throw unreachable(withoutQuery(place), cause);
    }
  }

  #clientTo(
    endpoint: Endpoint,
    { certificateAuthorities, clientCertificate }: ClusterCredentials,
  ): ServerClient {
    const server = {
      origin: endpoint.origin,
      serverName: endpoint.serverName,
      certificateAuthorities: endpoint.certificateAuthorities?.() ?? certificateAuthorities,
      clientCertificate,
    };
    const made = JSON.stringify(server);
    const known = this.#clients.get(keyOf(endpoint));
    if (known?.made === made) return known.client;
    const client = (this.#options.openClient ?? openHttpsClient)({
      ...server,
      addressPolicy: endpoint.addressPolicy,
    });
    // Certificates were rotated. Requests over the old connections may end normally.
    known?.client.retire();
    this.#clients.set(keyOf(endpoint), { client, made });
    return client;
  }
}

function keyOf({ origin, serverName = '', addressPolicy }: Endpoint): string {
  return `${origin} ${serverName} ${addressPolicy === undefined ? 'configured' : 'found'}`;
}

function noServer(): never {
  throw new ReadError('Unreachable', 'there is no API server to ask');
}

function accepting(mediaTypes: string): readonly string[] {
  return ['accept', mediaTypes, 'accept-encoding', 'gzip'];
}

function documentOf({ status, headers, text: body }: HttpsResponse): ServerDocument {
  return { status, contentType: headers['content-type'] ?? '', body };
}

/** Comes whole each time, as it has no ETag, and is nearly always as before. One object stands for it, which is parsed once. */
function isIndex(path: string): boolean {
  return path === '/openapi/v3';
}

/** OpenAPI documents of group versions have megabytes, and only their digests are kept. */
function isReadOnce(path: string): boolean {
  return path.startsWith('/openapi/v3/');
}

async function* chunksOf({ body }: HttpsStream, onBreak: () => void): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  try {
    for await (const chunk of body) yield decoder.decode(chunk, { stream: true });
  } catch (cause) {
    onBreak();
    throw unreachable('the watch', cause);
  }
}

/** The error of a server that did not respond, with what to do where its certificate is not accepted. */
function unreachable(place: string, cause: unknown): ReadError {
  const advice = untrustedCertificateAdvice(
    cause,
    'the CA that it is verified with (--peer-ca-file, or that of the kubeconfig)',
  );
  const message = `${place}: ${errorMessage(cause)}${advice === undefined ? '' : `. ${advice}`}`;
  return new ReadError('Unreachable', message, { cause });
}

/** True if a later request may succeed. Any other failure needs a change of a key, a permission or the request. */
export function isTransient(status: number): boolean {
  return status === 429 || status >= 500;
}
