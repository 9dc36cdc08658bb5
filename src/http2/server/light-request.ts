import type { NodeInboundRequest } from '../../node/node-inbound.ts';
import { webRequestOf } from './web-request.ts';

/**
 * A `Request` whose parts come into being when somebody asks for them, as @hono/node-server makes it for HTTP/1.1:
 * whoever passes a request on asks for its method and its URL only, and takes the rest from the inbound request.
 */
class LightRequest {
  readonly #inbound: NodeInboundRequest;
  #request: Request | undefined;

  constructor(inbound: NodeInboundRequest) {
    this.#inbound = inbound;
  }

  get method(): string {
    return this.#inbound.method;
  }

  /** The host is none of ours to know, and a target that is no path is the router's to refuse (`fetch-listener.ts`). */
  get url(): string {
    const { target } = this.#inbound;
    return target.startsWith('/') ? `https://localhost${target}` : 'https://localhost/';
  }

  /** @throws {TypeError} for a target that is no part of a URL. */
  get whole(): Request {
    this.#request ??= webRequestOf(this.#inbound);
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

/** A request by HTTP/2 as the fetch handler is given it. */
export function lightRequest(inbound: NodeInboundRequest): Request {
  // Handlers ask `request instanceof Request`; @hono/node-server puts one of its own in the place of Node's.
  if (parent !== Request.prototype) {
    parent = Request.prototype;
    Object.setPrototypeOf(LightRequest.prototype, parent);
  }
  return new LightRequest(inbound) as unknown as Request;
}
