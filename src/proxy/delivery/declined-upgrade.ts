import { statusResponse } from '../../apimachinery/status.ts';
import { ownResponse, type Refusal, type ResponseToSend } from '../../request/outcome.ts';
import type { AdmittedRequest } from '../../request/router.ts';
import type { ResponseHead } from '../../request/transport.ts';
import { refusalOfUnavailableServer } from './unavailable-server.ts';
import { knowledgeMissing } from './undelivered.ts';

/**
 * The response in place of a destination's that declines an upgrade; `undefined` passes it on. Of a redirect nothing is
 * followed or passed on (CVE-2020-8559). For what a server that is down behind its router declines, `Router.deliver` asks
 * another one.
 */
export function refuseDeclinedUpgrade(
  request: Pick<AdmittedRequest, 'decision' | 'requestInfo'>,
  head: ResponseHead,
): ResponseToSend | Refusal | undefined {
  const { status } = head;
  if (status === 404 && request.decision.reason === 'NoSnapshot') return ownResponse(knowledgeMissing());
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
