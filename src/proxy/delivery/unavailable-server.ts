import { firstHeader } from '../../apimachinery/raw-headers.ts';
import type { AdmittedRequest } from '../../request/router.ts';
import type { ResponseHead } from '../../request/transport.ts';
import { mayBeDenied, passedOn } from './not-served.ts';
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

/**
 * Given in place of the response of a server that ends, of which it is a copy, or of a peer's router whose server
 * received nothing: so that another server can be asked.
 */
export class UnavailableServerResponse extends Response {}

/**
 * The response that takes the place of one of these, known by its head alone; `undefined` for any other. What a kubelet or
 * an application has said is not a server's word about itself, nor a router's about its server.
 */
export function refusalOfUnavailableServer(
  { decision, requestInfo }: Pick<AdmittedRequest, 'decision' | 'requestInfo'>,
  { status, headers }: ResponseHead,
): UnavailableServerResponse | undefined {
  if (status !== 503 || !mayBeDenied(decision) || passedOn.has(requestInfo.subresource)) return undefined;
  if (firstHeader(headers, proxyStatusHeader) === destinationUnavailable) {
    const response = serverNotReady();
    return new UnavailableServerResponse(response.body, response);
  }
  if (firstHeader(headers, 'retry-after') !== '1') return undefined;
  if (!/^application\/json *(;|$)/i.test(firstHeader(headers, 'content-type') ?? '')) return undefined;
  if (firstHeader(headers, 'content-length') !== String(shuttingDownStatus.length)) return undefined;
  return new UnavailableServerResponse(shuttingDownStatus, {
    status,
    headers: {
      'content-type': 'application/json',
      'retry-after': '1',
      'x-content-type-options': 'nosniff',
    },
  });
}
