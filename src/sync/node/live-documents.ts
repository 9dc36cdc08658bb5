import { firstHeader } from '../../apimachinery/raw-headers.ts';
import type { NodeTransport } from '../../node/destinations/node-transport.ts';
import { requestDocument } from '../../node/destinations/request-document.ts';
import type { DestinationTrust } from '../../request/destination.ts';
import { ReadError, type ServerDocument, type ServerDocuments } from '../server-documents.ts';
import { unreachableServer } from './http-client.ts';

export interface LiveDocumentsOptions {
  /** Has the certificates. Its `frontProxy` pair is the sync job's own client certificate. */
  readonly transport: NodeTransport;
  readonly id: string;
  /** `https://host:port`. */
  readonly origin: string;
  /** The name that the serving certificate must have. Default `kubernetes.default.svc`. */
  readonly serverName?: string | undefined;
  /** The authorities to verify its certificate. Default: the transport's peer authorities. */
  readonly trust?: DestinationTrust | undefined;
  /** What names those authorities, for messages: a flag, or a field of a file. */
  readonly authoritiesFrom?: string | undefined;
  /** Called for each document, since service account tokens are rotated. */
  readonly bearerToken?: (() => string | Promise<string>) | undefined;
  /** More headers, name, value, name, value, …; called for each document. */
  readonly requestHeaders?: (() => Promise<readonly string[]>) | undefined;
  /** For one document. Default 10,000: longer than the 5 s an aggregator gives a hanging extension API server. */
  readonly timeoutMilliseconds?: number | undefined;
  /** Of one uncompressed document. Default 64 MiB. */
  readonly maximumBytes?: number | undefined;
}

/**
 * The documents of a running API server. Any identity works that may read discovery, APIServices and
 * CustomResourceDefinitions. A document that has not changed is not sent again (RFC 9110 section 13.1.2).
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
      throw unreachableServer(path, cause, options.authoritiesFrom);
    }
  }

  return {
    async get(path, accept, signal) {
      const key = `${accept} ${path}`;
      const before = known.get(key);
      const headers = ['accept', accept, 'accept-encoding', 'gzip', 'user-agent', 'mixed-version-proxy-sync'];
      if (before !== undefined) headers.push('if-none-match', before.etag);
      const response = await request(path, headers, signal);
      if (response.status === 304 && before !== undefined) return before.document;
      const document = {
        status: response.status,
        contentType: firstHeader(response.headers, 'content-type') ?? '',
        body: utf8(path, response.body),
      };
      const etag = firstHeader(response.headers, 'etag');
      if (etag !== undefined && response.status === 200 && !isReadOnce(path))
        known.set(key, { etag, document });
      else known.delete(key);
      return document;
    },
  };
}

/** OpenAPI documents of group versions have megabytes, and only their digests are kept. */
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
