import { firstHeader } from '../../apimachinery/raw-headers.ts';
import type { RequestInfo } from '../../apimachinery/request-info.ts';
import { announcesBody, type InboundRequest } from '../../request/inbound.ts';
import type { Refusal } from '../../request/outcome.ts';
import { isRead } from '../../request/retry.ts';
import type { AdmittedRequest } from '../../request/router.ts';
import type { TransportError } from '../../request/transport-error.ts';
import { isServedBySnapshot } from './not-served.ts';

/** The destination did not respond. */
export interface NoResponse {
  readonly kind: 'no response';
  readonly error: TransportError;
}

/** What came back from a server that another one may make good. */
export type Failed = Refusal | NoResponse;

/** Who else is asked, after what came back from the first server. */
export interface OthersToAsk {
  /** How many others, at most. 0: what came back is the end. */
  readonly atMost: number;
  /** Each is withdrawn from the budget of second tries: a struggling cluster must not get double load. */
  readonly isFromBudget: boolean;
  /** A server that is down has no word in it. */
  readonly onlyHealthy: boolean;
}

const nobody: OthersToAsk = { atMost: 0, isFromBudget: false, onlyHealthy: false };
/** The first server had nothing to do: nothing was carried out, of a write neither. */
const anotherOne: OthersToAsk = { atMost: 1, isFromBudget: false, onlyHealthy: false };
const anotherFromBudget: OthersToAsk = { atMost: 1, isFromBudget: true, onlyHealthy: false };
/** What they deny, too, is believed. */
const someHealthyOnes: OthersToAsk = { atMost: 3, isFromBudget: false, onlyHealthy: true };

/**
 * What came back × was it processed × method and body. In each case the body must be there to be sent again
 * (`canBeSentAgain`).
 *
 * - The server ends, or is down behind its router: another one, writes too.
 * - It denies to have what the snapshot says it serves: another one, writes too.
 * - It denies to have what is the same for all servers (a custom resource, an aggregated API, what nobody is known to
 *   serve): up to three others. It may have been started just now, or another one may know a new definition before it.
 * - It did not respond, and provably did not process the request: another one, writes too, within the budget.
 * - It did not respond, and may have processed the request: another one for a read without a body, within the budget.
 *   A write is never sent twice (RFC 9110 section 9.2.2).
 */
export function othersToAsk(request: AdmittedRequest, failed: Failed): OthersToAsk {
  if (failed.kind === 'no response') {
    return maySafelyTryAnother(request, failed.error) ? anotherFromBudget : nobody;
  }
  if (failed.reason === 'Unavailable' || isServedBySnapshot(request.decision)) return anotherOne;
  return someHealthyOnes;
}

interface RepeatableRequest {
  readonly inbound: Pick<InboundRequest, 'method' | 'headers'>;
  readonly requestInfo: Pick<RequestInfo, 'subresource'>;
}

/**
 * Whether another server may be tried after `error`: only if the first one provably received nothing, or if the
 * request is a bodiless read.
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
