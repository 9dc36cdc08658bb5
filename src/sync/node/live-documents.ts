import { firstHeader } from '../../apimachinery/raw-headers.ts';
import type { NodeTransport } from '../../node/destinations/node-transport.ts';
import { requestDocument } from '../../node/destinations/request-document.ts';
import type { DestinationTrust } from '../../request/transport.ts';
import { ReadError, type ServerDocument, type ServerDocuments } from '../documents/server-documents.ts';

export interface LiveDocumentsOptions {
  /** Holds the certificates: its "front-proxy" pair is the sync job's own client certificate here. */
  readonly transport: NodeTransport;
  readonly id: string;
  /** `https://host:port`. */
  readonly origin: string;
  /** The name the serving certificate must carry. Default `kubernetes.default.svc`. */
  readonly serverName?: string | undefined;
  /** What its certificate is checked against. Default: the transport's peer authorities. */
  readonly trust?: DestinationTrust | undefined;
  /** Asked for each document, since service account tokens are rotated. */
  readonly bearerToken?: (() => string | Promise<string>) | undefined;
  /** Further headers, name, value, name, value, …; asked for each document. */
  readonly requestHeaders?: (() => Promise<readonly string[]>) | undefined;
  /** For one document. Default 10,000: longer than the 5 s an aggregator gives a hanging extension API server. */
  readonly timeoutMilliseconds?: number | undefined;
  /** Of one document, unpacked. Default 64 MiB. */
  readonly maximumBytes?: number | undefined;
}

/**
 * The documents of a running API server, read as an ordinary client: any identity that may read discovery,
 * APIServices and CustomResourceDefinitions will do. What has not changed is not sent again.
 *
 * @example
 * ```ts
 * const transport = new NodeTransport({
 *   credentials: { peerCertificateAuthorities: certificateAuthorities, frontProxy: undefined },
 * });
 * const documents = liveDocuments({ transport, id: apiServer.id, origin: apiServer.url });
 * console.log((await documents.get('/version', 'application/json')).status); // 200
 * await transport.close();
 * ```
 */
export function liveDocuments(options: LiveDocumentsOptions): ServerDocuments {
  const {
    transport,
    id,
    origin,
    serverName = 'kubernetes.default.svc',
    trust = { kind: 'peer-ca' },
    bearerToken,
    requestHeaders,
  } = options;
  const { timeoutMilliseconds = 10_000, maximumBytes = 64 * 1024 * 1024 } = options;
  const destination = { kind: 'peer', id, origin, serverName, trust } as const;
  const known = new Map<string, { readonly etag: string; readonly document: ServerDocument }>();

  async function request(path: string, headers: readonly string[], signal: AbortSignal | undefined) {
    try {
      const authorization =
        bearerToken === undefined ? [] : ['authorization', `Bearer ${await bearerToken()}`];
      return await requestDocument(transport, {
        destination,
        target: path,
        headers: [...headers, ...authorization, ...((await requestHeaders?.()) ?? [])],
        presentFrontProxyCertificate: true,
        timeoutMilliseconds,
        maximumBytes,
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new ReadError('Unreachable', `${path}: ${reason}`, { cause });
    }
  }

  return {
    async get(path, accept, signal) {
      const key = `${accept} ${path}`;
      const before = known.get(key);
      const headers = ['accept', accept, 'accept-encoding', 'gzip', 'user-agent', 'mixed-version-proxy-sync'];
      if (before !== undefined) headers.push('if-none-match', before.etag);
      const answer = await request(path, headers, signal);
      if (answer.status === 304 && before !== undefined) return before.document;
      const document = {
        status: answer.status,
        contentType: firstHeader(answer.headers, 'content-type') ?? '',
        body: utf8(path, answer.body),
      };
      const etag = firstHeader(answer.headers, 'etag');
      if (etag !== undefined && answer.status === 200 && !isReadOnce(path))
        known.set(key, { etag, document });
      else known.delete(key);
      return document;
    },
  };
}

/** OpenAPI documents of group versions: what is to be kept of their megabytes is a few digests. */
function isReadOnce(path: string): boolean {
  return path.startsWith('/openapi/v3/');
}

function utf8(path: string, body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch (cause) {
    throw new ReadError('InvalidDocument', `${path} is not UTF-8`, { cause });
  }
}
