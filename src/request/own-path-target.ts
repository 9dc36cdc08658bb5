/** Everything under it is the router's own and never reaches an API server. */
export const ownPathsPrefix = '/.mixed-version-proxy';

/**
 * - `none`: any other path, however it is decoded.
 * - `own`: under the prefix, spelled out.
 * - `disguised`: under the prefix only to a reader that decodes escapes or merges slashes. Hono decodes before
 *   it matches, and an upstream server may do either, so that such a target could be one thing to a check
 *   and another to a handler: it is refused.
 */
type OwnPathSpelling = 'none' | 'own' | 'disguised';

/**
 * Whether an accepted request target names one of the router's own paths. Pure. Case counts, as in every path.
 * @param path the target's path, decoded once (`RequestInfo.path`).
 */
export function ownPathSpelling(target: string, path: string): OwnPathSpelling {
  // Called for every request; nearly all return here.
  if (!path.includes(ownPathsPrefix)) return 'none';
  const merged = path.replaceAll(/\/{2,}/g, '/');
  if (merged !== ownPathsPrefix && !merged.startsWith(`${ownPathsPrefix}/`)) return 'none';
  const questionMark = target.indexOf('?');
  const rawPath = questionMark === -1 ? target : target.slice(0, questionMark);
  return rawPath === merged ? 'own' : 'disguised';
}
