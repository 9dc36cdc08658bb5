import { statusResponse } from '../apimachinery/status.ts';
import type { AdmittedRequest } from './router.ts';

export const ownPathsPrefix = '/.mixed-version-proxy';

/**
 * - `none`: any other path, however it is decoded.
 * - `own`: under the prefix, spelled out.
 * - `disguised`: under the prefix only to a reader that decodes escapes or merges slashes. It could be one thing to a check
 *   and another to a handler: it is refused.
 */
type OwnPathSpelling = 'none' | 'own' | 'disguised';

/** @param path the target's path, decoded once (`RequestInfo.path`). */
export function ownPathSpelling(target: string, path: string): OwnPathSpelling {
  // Called for every request; nearly all return here.
  if (!path.includes(ownPathsPrefix)) return 'none';
  const merged = path.replaceAll(/\/{2,}/g, '/');
  if (merged !== ownPathsPrefix && !merged.startsWith(`${ownPathsPrefix}/`)) return 'none';
  const questionMark = target.indexOf('?');
  const rawPath = questionMark === -1 ? target : target.slice(0, questionMark);
  return rawPath === merged ? 'own' : 'disguised';
}

/** No reading of them may lead to an API server. @returns the refusal (400), or `undefined` for every other path. */
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
