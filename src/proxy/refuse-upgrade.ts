import { statusResponse } from '../apimachinery/status.ts';
import { ownPathSpelling, ownPathsPrefix } from '../request/own-path-target.ts';
import type { AdmittedRequest } from '../request/router.ts';
import { ownResponse, type Refusal, type ResponseHead, type ResponseToSend } from '../request/transport.ts';
import { refusalOfUnavailableServer } from './judge-response.ts';
import { unavailable } from './undelivered.ts';

/** @returns the refusal (400), or `undefined` for every other path. */
export function refuseUpgradeOfOwnPath({
  inbound,
  requestInfo,
}: Pick<AdmittedRequest, 'inbound' | 'requestInfo'>): Response | undefined {
  if (ownPathSpelling(inbound.target, requestInfo.path) === 'none') return undefined;
  return statusResponse(
    'BadRequest',
    `nothing under ${ownPathsPrefix} can be upgraded: send the request without Upgrade`,
  );
}

/**
 * The response in place of a destination's that declines an upgrade; `undefined` passes it on. Of a redirect nothing is
 * followed or passed on (CVE-2020-8559).
 */
export function refuseDeclinedUpgrade(
  request: Pick<AdmittedRequest, 'decision' | 'requestInfo'>,
  head: ResponseHead,
): ResponseToSend | Refusal | undefined {
  const { status } = head;
  if (status === 404 && request.decision.reason === 'NoSnapshot')
    return ownResponse(unavailable('NoSnapshot'));
  const refusal = refusalOfUnavailableServer(request, head);
  if (refusal !== undefined) return refusal;
  if (status < 300 || status > 399) return undefined;
  return ownResponse(
    statusResponse(
      'ServiceUnavailable',
      'the API server that serves this resource responded to the upgrade with a redirect',
    ),
  );
}
