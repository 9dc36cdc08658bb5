import { statusResponse } from '../apimachinery/status.ts';
import { ownPathSpelling, ownPathsPrefix } from '../request/own-path-target.ts';
import type { AdmittedRequest } from '../request/router.ts';

/**
 * Refuses other spellings of the own paths: no reading of them may lead to an API server. For every request.
 * @returns the refusal (400), or `undefined` for every other path.
 */
export function refuseDisguisedOwnPath({
  inbound,
  requestInfo,
}: Pick<AdmittedRequest, 'inbound' | 'requestInfo'>): Response | undefined {
  if (ownPathSpelling(inbound.target, requestInfo.path) !== 'disguised') return undefined;
  return statusResponse(
    'BadRequest',
    `request target refused: write paths under ${ownPathsPrefix} without percent escapes and doubled slashes`,
  );
}

/**
 * Refuses to upgrade anything under the own paths: their handlers are not on the way of upgrades, and nothing under the
 * prefix goes to an API server.
 * @returns the refusal (400), or `undefined` for every other path.
 */
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
