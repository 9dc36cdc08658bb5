import { firstHeader } from '../apimachinery/raw-headers.ts';
import type { RequestInfo } from '../apimachinery/request-info.ts';
import { announcesBody, type InboundRequest } from './inbound.ts';
import type { TransportError } from './transport-error.ts';

/** Share of requests that may be tried a second time; a struggling cluster must not get double load. */
const share = 0.2;
/** Capacity of the budget, which starts full. */
const reserve = 10;

/** A budget for second tries, filled by requests and drained by tries. */
export class RetryBudget {
  #tokens = reserve;

  /** Second tries left; below 1 none is allowed. */
  get left(): number {
    return this.#tokens;
  }

  /** One more request was received. */
  deposit(): void {
    this.#tokens = Math.min(reserve, this.#tokens + share);
  }

  /** Takes one second try out of the budget, if there is one. */
  withdraw(): boolean {
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

interface RepeatableRequest {
  readonly inbound: Pick<InboundRequest, 'method' | 'headers'>;
  readonly requestInfo: Pick<RequestInfo, 'subresource'>;
}

/**
 * Whether another server may be tried after `error`: only if the first one provably received nothing, or if the
 * request is a bodiless read. A write that may have arrived is never sent twice (RFC 9110 section 9.2.2).
 */
export function maySafelyTryAnother(request: RepeatableRequest, error: TransportError): boolean {
  // A head that is too large for one server may end the connections of the next, too.
  if (error.code === 'ClientGone' || error.code === 'RequestHeaderFieldsTooLarge') return false;
  if (!error.mayHaveBeenProcessed) return true;
  const { inbound } = request;
  return isRead(inbound.method) && !announcesBody(inbound) && !mayRunCommand(request);
}

/** Connected to with GET over WebSockets: the command would run twice (pkg/registry/core/pod/rest/subresources.go). */
const connecting: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward']);

/** A GET in name only. Behind the subresource `proxy` of a node is its kubelet, with an exec of its own. */
function mayRunCommand({ inbound, requestInfo: { subresource } }: RepeatableRequest): boolean {
  if (connecting.has(subresource)) return true;
  return subresource === 'proxy' && firstHeader(inbound.headers, 'upgrade') !== undefined;
}
