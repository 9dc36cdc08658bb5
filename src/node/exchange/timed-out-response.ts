import { statusParts } from '../../apimachinery/status.ts';
import { retryAfterSeconds } from '../../proxy/delivery/undelivered.ts';

const noResponse = 'the API server that serves this resource did not respond within the allotted timeout';
/** kube-apiserver's message. */
const message = 'Timeout: request did not complete within the allotted timeout';

/**
 * The response to a request that took longer than `--request-timeout`: 504, as of kube-apiserver's time-out filter
 * (k8s.io/apiserver pkg/server/filters/timeout.go).
 *
 * A request that can be repeated gets 503 with Retry-After instead, as one whose server does not respond. A write may have
 * been processed, and client-go would repeat it for a Retry-After (rest/with_retry.go).
 */
export function timedOutResponse(canBeRepeated: boolean): ReturnType<typeof statusParts> {
  if (!canBeRepeated) return statusParts('Timeout', message);
  return statusParts('ServiceUnavailable', noResponse, {
    retryAfterSeconds,
    causes: [{ reason: 'Timeout', message: 'no response from the destination' }],
  });
}
