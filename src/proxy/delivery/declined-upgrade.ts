import { statusResponse } from '../../apimachinery/status.ts';
import type { Decision } from '../../routing/decision.ts';
import { knowledgeMissing } from './undelivered.ts';

/**
 * The response in place of a destination's that declines an upgrade; `undefined` passes it on. Of a redirect nothing is
 * followed or passed on (CVE-2020-8559).
 */
export function refuseDeclinedUpgrade(decision: Decision, status: number): Response | undefined {
  if (status === 404 && decision.reason === 'NoSnapshot') return knowledgeMissing();
  if (status < 300 || status > 399) return undefined;
  return statusResponse(
    'ServiceUnavailable',
    'the API server that serves this resource responded to the upgrade with a redirect',
  );
}
