import { headerLines, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import {
  type ConnectionInfo,
  type InboundRequest,
  inboundFromRequest,
  isUnread,
  type RequestRecord,
} from '../../request/inbound.ts';

const accessTokenHeader = 'cf-access-jwt-assertion';

/**
 * Credentials for Cloudflare Access. They are for the platform and this Worker alone: to a server further on, which may
 * be an extension server of somebody else, they would open every application of the team.
 */
const accessHeaders: ReadonlySet<string> = new Set([
  accessTokenHeader,
  'cf-access-client-id',
  'cf-access-client-secret',
  'cf-access-token',
]);

const accessCookie = /^\s*CF_(?:Authorization|AppSession)\s*=/i;

export class WorkerInboundRequest implements InboundRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: RawHeaders;
  readonly connection: ConnectionInfo;
  readonly signal: AbortSignal;
  readonly request: Request;
  /** Not verified. Two lines arrive joined by a comma, which no token holds. */
  readonly accessToken: string | undefined;
  record: RequestRecord | undefined;

  constructor(request: Request, connection: ConnectionInfo) {
    const { method, target, headers, signal } = inboundFromRequest(request);
    this.request = request;
    this.method = method;
    this.target = target;
    this.headers = withoutAccessCredentials(headers);
    this.connection = connection;
    this.signal = signal;
    this.accessToken = request.headers.get(accessTokenHeader) ?? undefined;
  }

  body(): ReadableStream<Uint8Array> | null {
    return this.request.body;
  }

  rewindBody(): boolean {
    return isUnread(this.request);
  }
}

function withoutAccessCredentials(headers: RawHeaders): RawHeaders {
  const kept: string[] = [];
  for (const [name, value] of headerLines(headers)) {
    const lowerCaseName = name.toLowerCase();
    if (accessHeaders.has(lowerCaseName)) continue;
    const rest = lowerCaseName === 'cookie' ? withoutAccessCookie(value) : value;
    if (rest !== undefined) kept.push(name, rest);
  }
  return kept;
}

function withoutAccessCookie(value: string): string | undefined {
  const cookies = value.split(';');
  const others = cookies.filter((cookie) => !accessCookie.test(cookie));
  if (others.length === cookies.length) return value;
  return others.length === 0 ? undefined : others.join(';').trim();
}
