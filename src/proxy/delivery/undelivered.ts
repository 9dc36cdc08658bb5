import { statusResponse } from '../../apimachinery/status.ts';
import type { AdmittedRequest } from '../../request/router.ts';
import type { TransportError } from '../../request/transport-error.ts';
import { maySafelyTryAnother } from './other-servers.ts';

/** Seconds after which a client should ask again when no server responded. */
export const retryAfterSeconds = 1;

/** The response where no server can be asked. @param reason the decision's */
export function unavailable(reason: string): Response {
  if (reason === 'AlreadyRerouted') return reroutedToGateway();
  if (reason === 'PeerAddressUnknown') return addressUnknown();
  if (reason === 'ServerDeparted') return serverDeparted();
  if (reason === 'ServerNotKnown') return serverNotKnown();
  if (reason === 'PreferredVersion') return preferredVersionUnavailable();
  return knowledgeMissing();
}

/** Not knowing is not the same as not existing: what a 404 becomes while there has been no snapshot. */
export function knowledgeMissing(): Response {
  return statusResponse(
    'ServiceUnavailable',
    'it is not known yet which API server serves this resource, please try again',
    { retryAfterSeconds },
  );
}

export function addressUnknown(): Response {
  // Worded as upstream does (pkg/util/peerproxy/peerproxy_handler.go), with the Retry-After that it lacks.
  return statusResponse(
    'ServiceUnavailable',
    'Error getting ip and port info of the remote server while proxying',
    { retryAfterSeconds },
  );
}

/** No other server could respond, and a response from before a server is ready cannot be trusted. */
export function serverNotReady(): Response {
  return statusResponse(
    'ServiceUnavailable',
    'the API server that serves this resource could not be reached a moment ago and is not ready yet, please try again; the request was not carried out',
    { retryAfterSeconds },
  );
}

/** Nobody else is known to serve it; the server that does may be the one that has just come up. */
function serverNotKnown(): Response {
  return statusResponse(
    'ServiceUnavailable',
    'an API server was lost or started a moment ago, and what it serves is not known yet, please try again; the request was not carried out',
    { retryAfterSeconds },
  );
}

function serverDeparted(): Response {
  return statusResponse(
    'ServiceUnavailable',
    'the API server that serves this resource has been stopped and may come back, please try again; the request was not carried out',
    { retryAfterSeconds },
  );
}

/** Only servers of older versions are left, which may lose what the preferred one knows. */
export function preferredVersionUnavailable(): Response {
  return statusResponse(
    'ServiceUnavailable',
    'no API server of the preferred version can be reached, and one of an older version could lose fields of this object, please try again; the request was not carried out',
    { retryAfterSeconds },
  );
}

/** Asking again would end the same way: there is no Retry-After. */
function reroutedToGateway(): Response {
  return statusResponse(
    'ServiceUnavailable',
    'a router has sent this request to a gateway in place of an API server: the snapshot must name API servers, or the routers in front of them',
  );
}

/**
 * Says what happened and whether asking again is safe; never an address (upstream's text shows the dial error).
 *
 * Retry-After only where it is: client-go repeats every request that gets 5xx and Retry-After, writes included
 * (k8s.io/client-go rest/with_retry.go), and one that may have been carried out would be made twice.
 */
export function noResponse(request: AdmittedRequest, error: TransportError): Response {
  if (error.code === 'RequestHeaderFieldsTooLarge') {
    return statusResponse(
      error.code,
      'the header of this request is larger than the API server that serves this resource takes, please send less of it',
    );
  }
  // RFC 9110 section 15.6.3: there was a response, and it cannot be used.
  const isInvalid = error.code === 'InvalidResponse';
  const message = isInvalid
    ? 'the API server that serves this resource gave a response that is not valid HTTP, or larger than a router takes; the request may have been carried out'
    : error.mayHaveBeenProcessed
      ? 'the API server that serves this resource did not respond; the request may have been carried out'
      : 'the API server that serves this resource could not be reached, or did not process the request; the request was not carried out';
  const isSafe = maySafelyTryAnother(request, error);
  return statusResponse(isInvalid ? 'BadGateway' : 'ServiceUnavailable', message, {
    ...(isSafe ? { retryAfterSeconds } : {}),
    causes: [
      {
        reason: error.code,
        message: isInvalid ? 'an invalid response of the destination' : 'no response from the destination',
      },
    ],
  });
}
