import { firstHeader, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import {
  type ReadServerDocument,
  type ServerDocument,
  ServerDocumentError,
} from '../../discovery/server-documents/sources.ts';
import { IdentityTokenError } from '../../identity/outgoing/identity-token.ts';
import type { Destination } from '../../request/destination.ts';
import { TransportError } from '../../request/transport-error.ts';
import { type AskOptions, askServer, type UpstreamResponse } from './ask-server.ts';
import { peerDestination } from './destinations.ts';

export interface DocumentReaderOptions extends AskOptions {
  /** The server that the router stands in front of. Left out in the gateway form. */
  readonly local?: Destination | undefined;
  /** For one document. Default 30,000. */
  readonly timeoutMilliseconds?: number;
  /** Of one document. Default 32 MiB. */
  readonly maximumBytes?: number;
}

/**
 * Reads servers' own OpenAPI documents, as the router itself. Who may then see the merged document is up to the
 * local server, request by request.
 */
export function createDocumentReader(options: DocumentReaderOptions): ReadServerDocument {
  const { local, timeoutMilliseconds: longestRead = 30_000, maximumBytes = 32 * 1024 * 1024 } = options;

  return async ({ server, path, accept, ifNoneMatch, timeoutMilliseconds = longestRead }) => {
    const destination = server.id === local?.id ? local : peerDestination(server);
    if (destination === undefined) throw new ServerDocumentError('It has no address.');
    let upstream: UpstreamResponse;
    try {
      upstream = await askServer(
        {
          destination,
          target: path,
          headers: requestHeaders(accept, ifNoneMatch),
          signal: AbortSignal.timeout(timeoutMilliseconds),
        },
        options,
      );
    } catch (error) {
      throw withoutResponse(error);
    }
    try {
      return await documentOf(upstream, maximumBytes);
    } catch (error) {
      if (error instanceof ServerDocumentError) throw error;
      throw new ServerDocumentError('The response broke off.', { cause: error });
    }
  };
}

function requestHeaders(accept: string, ifNoneMatch: string | undefined): RawHeaders {
  const headers = ['accept', accept, 'accept-encoding', 'identity', 'user-agent', 'mixed-version-proxy'];
  return ifNoneMatch === undefined ? headers : [...headers, 'if-none-match', ifNoneMatch];
}

async function documentOf({ response, headers }: UpstreamResponse, limit: number): Promise<ServerDocument> {
  const { status, body } = response;
  const head = {
    status,
    contentType: firstHeader(headers, 'content-type') ?? '',
    etag: firstHeader(headers, 'etag'),
  };
  if (body === null) return { ...head, body: new Uint8Array() };
  if (status !== 200) {
    await body.cancel();
    return { ...head, body: new Uint8Array() };
  }
  return { ...head, body: await readBytes(body, limit) };
}

/** Reads a body whole, or nothing of it beyond `limit` bytes. */
async function readBytes(body: ReadableStream<Uint8Array>, limit: number): Promise<Uint8Array> {
  const reader = body.getReader();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(chunks).arrayBuffer());
    length += value.byteLength;
    if (length > limit) {
      await reader.cancel();
      throw new ServerDocumentError(`It is longer than ${limit} bytes.`);
    }
    chunks.push(value.slice());
  }
}

/** In words that name no address: they are shown in the router's status. */
function withoutResponse(error: unknown): unknown {
  if (error instanceof TransportError) {
    return new ServerDocumentError(`The server did not respond: ${error.code}.`, { cause: error });
  }
  return error instanceof IdentityTokenError
    ? new ServerDocumentError(error.message, { cause: error })
    : error;
}
