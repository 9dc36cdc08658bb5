import { statusResponse } from '../apimachinery/status.ts';

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

/**
 * No reading of a disguised one may lead to an API server, and no own path can be upgraded.
 * @returns the refusal (400), or `undefined` for every other path.
 */
export function refuseOwnPath(target: string, path: string, isUpgrade = false): Response | undefined {
  const spelling = ownPathSpelling(target, path);
  if (spelling === 'none' || (spelling === 'own' && !isUpgrade)) return undefined;
  return statusResponse(
    'BadRequest',
    isUpgrade
      ? `nothing under ${ownPathsPrefix} can be upgraded: send the request without Upgrade`
      : `request target refused: write paths under ${ownPathsPrefix} without percent escapes and doubled slashes`,
  );
}
