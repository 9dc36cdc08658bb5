import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { firstHeader, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { Destination } from '../../request/destination.ts';
import { TransportError } from '../../request/transport-error.ts';
import type { ResponseSink } from '../exchange/response-sink.ts';
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
  const sink = new DocumentSink(destination.origin, maximumBytes, timeoutMilliseconds, signal);
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
  await Promise.race([
    // The document is collected in the sink; this promise only reports errors.
    transport.exchange(outbound, sink, (head) => ({ kind: 'forward', headers: head.headers }), 0),
    sink.document,
  ]);
  const document = await sink.document;
  if (firstHeader(document.headers, 'content-encoding')?.toLowerCase() !== 'gzip') return document;
  try {
    const body = await unzip(document.body, { maxOutputLength: maximumBytes });
    return { ...document, body };
  } catch (cause) {
    throw invalid(
      destination.origin,
      `the gzip body cannot be uncompressed into ${maximumBytes} bytes`,
      cause,
    );
  }
}

/** Collects a response, with limits of size and time. */
class DocumentSink implements ResponseSink {
  readonly document: Promise<Document>;
  readonly #resolve: (document: Document) => void;
  readonly #reject: (error: TransportError) => void;
  readonly #origin: string;
  readonly #maximumBytes: number;
  readonly #signal: AbortSignal;
  readonly #chunks: Uint8Array[] = [];
  #length = 0;
  #head: { readonly status: number; readonly headers: RawHeaders } | undefined;
  #giveUp: () => void = () => {};

  constructor(origin: string, maximumBytes: number, timeout: number, signal: AbortSignal | undefined) {
    const { promise, resolve, reject } = Promise.withResolvers<Document>();
    // The exchange reports the same error.
    promise.catch(() => {});
    this.document = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#origin = origin;
    this.#maximumBytes = maximumBytes;
    const deadline = AbortSignal.timeout(timeout);
    this.#signal = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
  }

  attach(_onDrain: () => void, onGone: () => void): void {
    this.#giveUp = onGone;
    if (this.#signal.aborted) this.#aborted();
    else this.#signal.addEventListener('abort', this.#aborted);
  }

  readonly #aborted = (): void => {
    const timedOut =
      this.#signal.reason instanceof DOMException && this.#signal.reason.name === 'TimeoutError';
    const message = timedOut ? 'the document took too long' : 'the request for the document was cancelled';
    this.#fail(
      new TransportError(timedOut ? 'Timeout' : 'ClientGone', `${this.#origin}: ${message}`, {
        requestMayHaveArrived: true,
      }),
    );
  };

  release(): void {
    this.#signal.removeEventListener('abort', this.#aborted);
  }

  start(status: number, _statusMessage: string, headers: RawHeaders): Response {
    this.#head = { status, headers };
    return Response.json(null);
  }

  write(chunk: Uint8Array): boolean {
    this.#length += chunk.length;
    if (this.#length > this.#maximumBytes) {
      this.#fail(invalid(this.#origin, `the document is larger than ${this.#maximumBytes} bytes`));
      return true;
    }
    this.#chunks.push(chunk);
    return true;
  }

  end(): void {
    if (this.#head === undefined) return;
    this.#resolve({ ...this.#head, body: Buffer.concat(this.#chunks) });
  }

  breakOff(error: Error): void {
    this.#reject(invalid(this.#origin, 'the document broke off', error));
  }

  #fail(error: TransportError): void {
    this.#reject(error);
    this.#chunks.length = 0;
    this.#giveUp();
  }
}

function invalid(origin: string, message: string, cause?: unknown): TransportError {
  return new TransportError('InvalidResponse', `${origin}: ${message}`, {
    requestMayHaveArrived: true,
    cause,
  });
}
