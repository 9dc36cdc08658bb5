import { statusResponse } from '../apimachinery/status.ts';

export const retryAfterSeconds = 1;

export const tryAgain = (message: string): Response =>
  statusResponse('ServiceUnavailable', message, { retryAfterSeconds });

/** The response where no server can be asked. @param reason the decision's */
export function unavailable(reason: string): Response {
  if (reason === 'AlreadyRerouted') return reroutedToGateway();
  if (reason === 'PeerAddressUnknown') return addressUnknown();
  if (reason === 'ServerDeparted') return serverDeparted();
  if (reason === 'ServerNotKnown') return serverNotKnown();
  return knowledgeMissing();
}

/** Not knowing is not the same as not existing: what a 404 becomes while there has been no snapshot. */
export const knowledgeMissing = (): Response =>
  tryAgain('it is not known yet which API server serves this resource, please try again');

/** Worded as upstream does (pkg/util/peerproxy/peerproxy_handler.go), with the Retry-After that it lacks. */
export const addressUnknown = (): Response =>
  tryAgain('Error getting ip and port info of the remote server while proxying');

/** No other server could respond, and a response from before a server is ready cannot be trusted. */
export const serverNotReady = (): Response =>
  tryAgain(
    'the API server that serves this resource could not be reached a moment ago and is not ready yet, please try again; the request was not carried out',
  );

/** Nobody else is known to serve it; the server that does may be the one that has just come up. */
const serverNotKnown = (): Response =>
  tryAgain(
    'an API server was lost or started a moment ago, and what it serves is not known yet, please try again; the request was not carried out',
  );

const serverDeparted = (): Response =>
  tryAgain(
    'the API server that serves this resource has been stopped and may come back, please try again; the request was not carried out',
  );

/** Asking again would end the same way: there is no Retry-After. */
function reroutedToGateway(): Response {
  return statusResponse(
    'ServiceUnavailable',
    'a router has sent this request to a gateway in place of an API server: the snapshot must name API servers, or the routers in front of them',
  );
}
