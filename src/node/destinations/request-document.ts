import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { firstHeader, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { type Destination, TransportError, type TransportErrorCode } from '../../request/destination.ts';
import { type OnResponseHead, responseOf } from '../../request/transport.ts';
import { WebResponseSink } from '../exchange/response-sink.ts';
import type { NodeTransport } from './node-transport.ts';

export interface DocumentRequest {
  readonly destination: Destination;
  /** Path and query. */
  readonly target: string;
  readonly headers?: RawHeaders;
  readonly presentFrontProxyCertificate: boolean;
  /** For the whole document. Default 30,000. */
  readonly timeoutMilliseconds?: number;
  /** Of the uncompressed document. Default 32 MiB. */
  readonly maximumBytes?: number;
  readonly signal?: AbortSignal;
}

export interface Document {
  /** Any status. A redirect is never followed (CVE-2022-3172); the caller must refuse it. */
  readonly status: number;
  readonly headers: RawHeaders;
  /** Uncompressed, also if the destination sent gzip unrequested. */
  readonly body: Uint8Array;
}

const unzip = promisify(gunzip);

/**
 * Fetches one document, over the same connections and with the same trust as forwarded requests.
 * @throws {TransportError} `Timeout`, `ClientGone` if `signal` aborted, `InvalidResponse` if the document is too large or
 *   cannot be uncompressed, and the errors of a forwarded request
 */
export async function requestDocument(transport: NodeTransport, request: DocumentRequest): Promise<Document> {
  const { destination, target, presentFrontProxyCertificate, signal } = request;
  const { headers = [], timeoutMilliseconds = 30_000, maximumBytes = 32 * 1024 * 1024 } = request;
  const failure = (code: TransportErrorCode, message: string, cause?: unknown): TransportError =>
    new TransportError(code, `${destination.origin}: ${message}`, { mayHaveBeenProcessed: true, cause });
  const deadline = AbortSignal.timeout(timeoutMilliseconds);
  const end = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
  const outbound = {
    destination,
    method: 'GET',
    target,
    headers:
      firstHeader(headers, 'accept-encoding') === undefined
        ? [...headers, 'accept-encoding', 'identity']
        : headers,
    presentFrontProxyCertificate,
    longRunning: false,
  };
  let received: RawHeaders = [];
  const onResponseHead: OnResponseHead = (head) => {
    received = head.headers;
    return { kind: 'forward', headers: received };
  };
  let response: Response | undefined;
  let body: Buffer | undefined;
  try {
    response = responseOf(await transport.exchange(outbound, new WebResponseSink(end), onResponseHead, 0));
    body = await bytesOf(response, maximumBytes);
  } catch (cause) {
    if (deadline.aborted) throw failure('Timeout', 'the document took too long', cause);
    if (end.aborted) throw failure('ClientGone', 'the request for the document was cancelled', cause);
    throw response === undefined ? cause : failure('InvalidResponse', 'the document broke off', cause);
  }
  const { status } = response;
  if (body === undefined) {
    throw failure('InvalidResponse', `the document is larger than ${maximumBytes} bytes`);
  }
  if (firstHeader(received, 'content-encoding')?.toLowerCase() !== 'gzip') {
    return { status, headers: received, body };
  }
  try {
    return { status, headers: received, body: await unzip(body, { maxOutputLength: maximumBytes }) };
  } catch (cause) {
    const message = `the gzip body cannot be uncompressed into ${maximumBytes} bytes`;
    throw failure('InvalidResponse', message, cause);
  }
}

async function bytesOf({ body }: Response, limit: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}
