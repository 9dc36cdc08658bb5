import { allHeaders } from '../../apimachinery/raw-headers.ts';
import type { AdmittedRequest } from '../../request/router.ts';
import type { ResponseHead } from '../../request/transport.ts';
import { mayBeDenied, passedOn } from './not-served.ts';
import { serverNotReady } from './undelivered.ts';

/** RFC 9209 section 2.3.2: the intermediary takes the next hop for unavailable, and has sent it nothing. */
const proxyStatusHeader = 'proxy-status';
const destinationUnavailable = 'mixed-version-proxy; error=destination_unavailable';

/**
 * Tells the router that has rerouted a request here that this one's server received nothing of it, so that another
 * server can be asked, for writes too. Clients are not told: their way ends here.
 */
export function toldToPeer({ decision }: Pick<AdmittedRequest, 'decision'>, response: Response): Response {
  if (decision.reason === 'AlreadyRerouted') response.headers.set(proxyStatusHeader, destinationUnavailable);
  return response;
}

/** Given in place of the response of a peer's router whose server received nothing, so that another one can be asked. */
export class UnavailableServerResponse extends Response {
  constructor() {
    const { body, status, headers } = serverNotReady();
    super(body, { status, headers });
  }
}

/**
 * The response that takes the place of that one; `undefined` for any other. What a kubelet or an application has said is
 * not a router's word about its server.
 */
export function refusalOfPeersRouter(
  { decision, requestInfo }: Pick<AdmittedRequest, 'decision' | 'requestInfo'>,
  { status, headers }: ResponseHead,
): UnavailableServerResponse | undefined {
  if (status !== 503 || !mayBeDenied(decision) || passedOn.has(requestInfo.subresource)) return undefined;
  return allHeaders(headers, proxyStatusHeader).includes(destinationUnavailable)
    ? new UnavailableServerResponse()
    : undefined;
}
