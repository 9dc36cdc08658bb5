import { firstHeader } from '../../apimachinery/raw-headers.ts';
import type { Refusal } from '../../request/outcome.ts';
import type { AdmittedRequest } from '../../request/router.ts';
import type { ResponseHead } from '../../request/transport.ts';
import type { Decision } from '../../routing/decision.ts';
import { isServedBySnapshot, passedOn, reasonOf } from './not-served.ts';
import { serverNotReady } from './undelivered.ts';

/**
 * What kube-apiserver responds with once it waits for its last requests, to every other one and before it looks at it
 * (k8s.io/apiserver pkg/server/filters/waitgroup.go; seen of 1.31 and 1.36).
 */
export const shuttingDownStatus =
  '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"apiserver is shutting down","reason":"ServiceUnavailable","code":503}\n\n';

const proxyStatusHeader = 'proxy-status';
/** RFC 9209 section 2.3.2: the intermediary takes the next hop for unavailable, and has sent it nothing. */
const destinationUnavailable = 'mixed-version-proxy; error=destination_unavailable';

/**
 * Tells the router that has rerouted a request here that this one's server received nothing of it, so that another
 * server can be asked, for writes too. Clients are not told: their way ends here.
 */
export function toldToPeer({ decision }: Pick<AdmittedRequest, 'decision'>, response: Response): Response {
  if (decision.reason === 'AlreadyRerouted') response.headers.set(proxyStatusHeader, destinationUnavailable);
  return response;
}

/** Whether the head of a response is an API server's, or its router's: what is aggregated has an extension server's. */
function isRespondedToByServer(decision: Decision): boolean {
  const reason = reasonOf(decision);
  return isServedBySnapshot(decision) || reason === 'CustomResource' || reason === 'MergedDocument';
}

function unavailable(response: Response): Refusal {
  return { kind: 'refusal', reason: 'Unavailable', isCertain: true, response };
}

/**
 * What takes the place of the response of a server that ends, of which it is a copy, or of a peer's router whose server
 * received nothing; known by its head alone; `undefined` for any other. What a kubelet or
 * an application has said is not a server's word about itself; what an application or an extension server has said is not
 * that of a router about its server.
 *
 * That word counts for exec, attach and port-forward, too. RFC 9110 section 9.2.2 lets a request that is not idempotent be
 * sent again only where the first one was provably not applied: the server received nothing, and of the client's stream
 * nothing is sent before a 101. The head of a refusal is the kubelet's at most, which runs the command itself.
 */
export function refusalOfUnavailableServer(
  { decision, requestInfo }: Pick<AdmittedRequest, 'decision' | 'requestInfo'>,
  { status, headers }: ResponseHead,
): Refusal | undefined {
  if (status !== 503) return undefined;
  if (
    firstHeader(headers, proxyStatusHeader) === destinationUnavailable &&
    isRespondedToByServer(decision) &&
    requestInfo.subresource !== 'proxy'
  ) {
    return unavailable(serverNotReady());
  }
  if (!isRespondedToByServer(decision) || passedOn.has(requestInfo.subresource)) return undefined;
  if (firstHeader(headers, 'retry-after') !== '1') return undefined;
  if (!/^application\/json *(;|$)/i.test(firstHeader(headers, 'content-type') ?? '')) return undefined;
  if (firstHeader(headers, 'content-length') !== String(shuttingDownStatus.length)) return undefined;
  const copied = {
    'content-type': 'application/json',
    'retry-after': '1',
    'x-content-type-options': 'nosniff',
  };
  return unavailable(new Response(shuttingDownStatus, { status, headers: copied }));
}
