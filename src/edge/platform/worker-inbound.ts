import { firstHeader, headerLines, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import {
  type ConnectionInfo,
  type InboundContent,
  type InboundRequest,
  inboundFromRequest,
  isRead,
  isUnread,
  type RequestRecord,
} from '../../request/inbound.ts';
import { isJsonObject } from '../../runtime/validation.ts';
import { withoutAccessCredentials } from './access-credentials.ts';

/** Bytes of a write's content that are kept, so that it can be sent to another server. Kubernetes' objects have a few thousand. */
const mostKept = 64 * 1024;

/** The runtime's `request.cf`: an object on Cloudflare; on self-hosted workerd, as its operator configured. */
export type PlatformRequest = Request & { readonly cf?: unknown };

export class WorkerInboundRequest implements InboundRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: RawHeaders;
  readonly connection: ConnectionInfo;
  readonly isUpgrade: boolean;
  readonly signal: AbortSignal;
  readonly web: Request;
  /** Not verified. Two lines arrive joined by a comma, which no token holds. */
  readonly accessToken: string | undefined;
  record: RequestRecord | undefined;
  #isToBeKept = false;
  #kept: Uint8Array<ArrayBuffer> | undefined;

  constructor(request: PlatformRequest, connection: ConnectionInfo) {
    const { method, target, headers, signal } = inboundFromRequest(request);
    const { kept, accessToken } = withoutAccessCredentials(headers);
    const remoteAddress = clientAddress(request.cf, headers);
    this.web = request;
    this.method = method;
    this.target = target;
    this.headers = remoteAddress === undefined ? kept : forwardedOnce(kept, remoteAddress);
    this.connection = remoteAddress === undefined ? connection : { ...connection, remoteAddress };
    this.isUpgrade = request.headers.has('upgrade');
    this.signal = signal;
    this.accessToken = accessToken;
  }

  body(): ReadableStream<Uint8Array> | null {
    return this.web.body;
  }

  async contentToSend(): Promise<InboundContent> {
    if (this.#kept !== undefined) return this.#kept;
    const length = firstHeader(this.headers, 'content-length')?.trim();
    // Self-hosted workerd has a stream for no content, too, and `fetch` would take the read for one with content.
    if (this.web.body === null || (length === '0' && isRead(this.method))) return null;
    if (!this.#isToBeKept || length === undefined || Number(length) > mostKept) return this.web.body;
    this.#kept = new Uint8Array(await this.web.arrayBuffer());
    return this.#kept;
  }

  keepBody(): void {
    this.#isToBeKept = true;
  }

  rewindBody(): boolean {
    return this.#kept !== undefined || isUnread(this.web);
  }

  forgetBody(): void {
    this.#isToBeKept = false;
    this.#kept = undefined;
  }
}

/** Cloudflare has written the address into X-Forwarded-For already, where the router writes it as well. */
function forwardedOnce(headers: RawHeaders, address: string): RawHeaders {
  const lines: string[] = [];
  for (const [name, value] of headerLines(headers)) {
    if (name.toLowerCase() !== 'x-forwarded-for') lines.push(name, value);
    else {
      const addresses = value.split(',').map((each) => each.trim());
      if (addresses.at(-1) === address) addresses.pop();
      if (addresses.length > 0) lines.push(name, addresses.join(', '));
    }
  }
  return lines;
}

const ipAddress = /^[0-9a-f.:]{2,45}$/i;
/** `127.0.0.1:4711`, `[::1]:4711`. */
const addressWithPort = /^\[?([0-9a-f.:]+?)\]?:\d+$/i;

/**
 * The client's address, where the platform vouches for it. Anybody could send the header elsewhere.
 *
 * - Self-hosted workerd: `request.cf.clientIp`, of the connection.
 * - Cloudflare: `CF-Connecting-IP`, which it sets itself
 *   (developers.cloudflare.com/fundamentals/reference/http-headers). There, and nowhere else, `request.cf` names a data centre.
 */
function clientAddress(cf: unknown, headers: RawHeaders): string | undefined {
  if (!isJsonObject(cf)) return undefined;
  const { clientIp, colo } = cf;
  if (typeof clientIp === 'string') return addressWithPort.exec(clientIp)?.[1];
  const told = typeof colo === 'string' ? firstHeader(headers, 'cf-connecting-ip')?.trim() : undefined;
  return told !== undefined && ipAddress.test(told) ? told : undefined;
}
