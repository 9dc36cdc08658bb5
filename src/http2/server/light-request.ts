import { Readable } from 'node:stream';
import type { IncomingStream } from './incoming-stream.ts';

/** Methods that a web `Request` does not take (https://fetch.spec.whatwg.org/#forbidden-method). */
const forbiddenMethod = /^(?:connect|trace|track)$/i;

/**
 * A `Request` whose parts come into being when somebody asks for them, as @hono/node-server makes it for HTTP/1.1:
 * whoever passes a request on asks for its method and its URL only, and takes the rest from its stream.
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

  /** The target stands there as it came: whoever wants it resolved asks `new URL`. */
  get url(): string {
    const { target, authority } = this.#incoming.head;
    return `https://${this.#host ?? authority}${target.startsWith('/') ? target : '/'}`;
  }

  get whole(): Request {
    this.#request ??= wholeRequest(this, this.#incoming);
    return this.#request;
  }
}

/** What `Request` has beside (https://fetch.spec.whatwg.org/#request-class): the whole request is made for it. */
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
/** Which `Request` it is an instance of. */
let parent: object | undefined;

/**
 * A request by HTTP/2 as the fetch handler is given it.
 * @param host of its URL. Default: what the client calls it
 */
export function lightRequest(incoming: IncomingStream, host: string | undefined): Request {
  // Handlers ask `request instanceof Request`; @hono/node-server puts one of its own in the place of Node's.
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
  // `Request` also spells some methods its own way.
  if (request.method !== method) Object.defineProperty(request, 'method', { value: method });
  return request;
}

/** Aborted when the client goes away before it has its answer. */
function signalOf(incoming: IncomingStream): AbortSignal {
  const controller = new AbortController();
  incoming.follow({
    onClosed() {
      if (!incoming.isAnswered) controller.abort(new Error('the client gave the request up'));
    },
  });
  return controller.signal;
}

/** Begins to be read when somebody reads it, and not ahead of whoever does. */
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
