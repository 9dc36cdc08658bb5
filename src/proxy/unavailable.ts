import { retryAfterSeconds, statusResponse } from '../apimachinery/status.ts';

const messages = {
  /** Not knowing is not the same as not existing: what a 404 becomes while there has been no snapshot. */
  NoSnapshot: 'it is not known yet which API server serves this resource, please try again',
  /** Worded as upstream does (pkg/util/peerproxy/peerproxy_handler.go), with the Retry-After that it lacks. */
  PeerAddressUnknown: 'Error getting ip and port info of the remote server while proxying',
  /** No other server could respond, and a response from before a server is ready cannot be trusted. */
  ServerNotReady:
    'the API server that serves this resource could not be reached a moment ago and is not ready yet, please try again; the request was not carried out',
  /** Nobody else is known to serve it; the server that does may be the one that has just come up. */
  ServerNotKnown:
    'an API server was lost or started a moment ago, and what it serves is not known yet, please try again; the request was not carried out',
  /** Another router may write to another version by now (`confirmedWithin`). */
  VersionNotConfirmed:
    'the API servers are of several versions, or may be by now, and it was not possible to ask them for some seconds which one writes go to, please try again; the request was not carried out',
  ServerDeparted:
    'the API server that serves this resource has been stopped and may come back, please try again; the request was not carried out',
  ServedSetsChanging:
    'what the API servers serve is changing, and it is not known yet which of them serves this resource, please try again; the request was not carried out',
  AlreadyRerouted:
    'a router has sent this request to a gateway in place of an API server: the snapshot must name API servers, or the routers in front of them',
};

/** The response where no server can be asked. @param reason one of `messages`, or any other of a decision */
export function unavailable(reason: string): Response {
  const message = reason in messages ? messages[reason as keyof typeof messages] : messages.NoSnapshot;
  // Asked again, the gateway would end the same way.
  return statusResponse(
    'ServiceUnavailable',
    message,
    reason === 'AlreadyRerouted' ? {} : { retryAfterSeconds },
  );
}
