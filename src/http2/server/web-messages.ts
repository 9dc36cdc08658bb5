import { Readable } from 'node:stream';
import type { IncomingStream, ResponseWriter } from './incoming-stream.ts';

/** Methods that a web `Request` does not take (https://fetch.spec.whatwg.org/#forbidden-method). */
const forbiddenMethod = /^(?:connect|trace|track)$/i;

/**
 * A `Request` whose parts are made when they are first used, as @hono/node-server does for HTTP/1.1. A proxy uses the
 * method and the URL only, and takes the rest from the stream.
 */
class LightRequest {
  readonly #incoming: IncomingStream;
  readonly #host: string | undefined;
  #request: Request | undefined;

  constructor(incoming: IncomingStream, host: string | undefined) {
    this.#incoming = incoming;
    this.#host = host;
  }

  get method(): string {
    return this.#incoming.head.method;
  }

  /** Has the target as it was received; `new URL` resolves it. */
  get url(): string {
    const { target, authority } = this.#incoming.head;
    return `https://${this.#host ?? authority}${target.startsWith('/') ? target : '/'}`;
  }

  get whole(): Request {
    this.#request ??= wholeRequest(this, this.#incoming);
    return this.#request;
  }
}

/** The other members of `Request` (https://fetch.spec.whatwg.org/#request-class) make the whole request. */
for (const name of [
  ...['body', 'bodyUsed', 'cache', 'credentials', 'destination', 'duplex', 'headers', 'integrity'],
  ...['keepalive', 'mode', 'redirect', 'referrer', 'referrerPolicy', 'signal'],
]) {
  Object.defineProperty(LightRequest.prototype, name, {
    get(this: LightRequest) {
      return Reflect.get(this.whole, name);
    },
  });
}
for (const name of ['arrayBuffer', 'blob', 'bytes', 'clone', 'formData', 'json', 'text']) {
  Object.defineProperty(LightRequest.prototype, name, {
    value(this: LightRequest) {
      return Reflect.get(this.whole, name).call(this.whole);
    },
  });
}
/** The prototype that `LightRequest` inherits from. */
let parent: object | undefined;

/**
 * The `Request` of an HTTP/2 stream.
 * @param host of its URL. Default: the request's authority
 */
export function lightRequest(incoming: IncomingStream, host: string | undefined): Request {
  // For `request instanceof Request`; @hono/node-server replaces the global `Request` by its own.
  if (parent !== Request.prototype) {
    parent = Request.prototype;
    Object.setPrototypeOf(LightRequest.prototype, parent);
  }
  return new LightRequest(incoming, host) as unknown as Request;
}

function wholeRequest({ method, url }: LightRequest, incoming: IncomingStream): Request {
  const { headers } = incoming.head;
  const lines = new Headers();
  for (let index = 0; index + 1 < headers.length; index += 2) {
    lines.append(headers[index] as string, headers[index + 1] as string);
  }
  const mayHaveBody = incoming.hasContent && method !== 'GET' && method !== 'HEAD';
  const request = new Request(url, {
    method: forbiddenMethod.test(method) ? 'OPTIONS' : method,
    headers: lines,
    signal: signalOf(incoming),
    ...(mayHaveBody ? { body: lazyBodyOf(incoming), duplex: 'half' } : {}),
  });
  // `Request` also changes the case of some methods.
  if (request.method !== method) Object.defineProperty(request, 'method', { value: method });
  return request;
}

/** Aborted when the client goes away before the response is complete. */
function signalOf(incoming: IncomingStream): AbortSignal {
  const controller = new AbortController();
  incoming.follow({
    onClosed() {
      if (!incoming.isResponseSent) controller.abort(new Error('the client cancelled the request'));
    },
  });
  return controller.signal;
}

/** Reads the content when it is read itself, and not ahead. */
function lazyBodyOf(incoming: IncomingStream): ReadableStream<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader ??= Readable.toWeb(incoming.content).getReader();
        const { value } = await reader.read();
        if (value === undefined) controller.close();
        else controller.enqueue(value);
      },
      async cancel(reason) {
        await reader?.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * Writes a web `Response` to a stream, as fast as the client reads it. If the client goes away, the body is cancelled.
 * @throws if the head is invalid or the body fails: the caller must reset the stream.
 */
export async function writeResponse(response: Response, stream: IncomingStream): Promise<void> {
  const { status, headers, body } = response;
  const lines: string[] = [];
  for (const [name, value] of headers) lines.push(name, value);
  stream.respond(status, lines);
  if (body !== null && stream.takesContent) await new BodyWriter(stream, body).write();
  else body?.cancel().catch(() => {});
  stream.end();
}

class BodyWriter implements ResponseWriter {
  readonly #stream: IncomingStream;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #resume: () => void = () => {};

  constructor(stream: IncomingStream, body: ReadableStream<Uint8Array>) {
    this.#stream = stream;
    this.#reader = body.getReader();
    stream.writer = this;
  }

  async write(): Promise<void> {
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) return;
      // https://fetch.spec.whatwg.org/#incrementally-read-loop
      if (!(value instanceof Uint8Array))
        throw new TypeError('a chunk of the response body is not a Uint8Array');
      if (!this.#stream.write(value)) {
        await new Promise<void>((resolve) => {
          this.#resume = resolve;
        });
      }
    }
  }

  onRoom(): void {
    this.#resume();
  }

  onClosed(): void {
    // Also ends a pending read.
    this.#reader.cancel().catch(() => {});
    this.#resume();
  }
}
