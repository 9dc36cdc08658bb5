import type { RequestInfo } from '../apimachinery/request-info.ts';

/** Characters of a path that are shown at most. */
const longest = 200;

/**
 * A request's path as it may be shown: undecoded, without its query, which can hold tokens and the commands of
 * `kubectl exec`. What a proxied application is asked (`…/proxy/…`) is that application's own, and can hold secrets
 * as well (links to reset a password): it is left out. Pure.
 */
export function loggablePath(
  target: string,
  requestInfo: Pick<RequestInfo, 'verb' | 'subresource'> | undefined,
): string {
  const questionMark = target.indexOf('?');
  const path = questionMark === -1 ? target : target.slice(0, questionMark);
  const shown = isProxied(requestInfo) ? withoutProxiedPath(path) : path;
  return shown.length > longest ? `${shown.slice(0, longest)}…` : shown;
}

/** `verb` is `proxy` for the old form of these paths, `/api/v1/proxy/…` (pkg/endpoints/request/requestinfo.go). */
function isProxied(requestInfo: Pick<RequestInfo, 'verb' | 'subresource'> | undefined): boolean {
  return requestInfo?.subresource === 'proxy' || requestInfo?.verb === 'proxy';
}

function withoutProxiedPath(path: string): string {
  const begin = /^.*?\/proxy(?=\/)/.exec(path)?.[0];
  if (begin !== undefined) return `${begin}/…`;
  // Spelled with an escape, or with nothing after it.
  return path.endsWith('/proxy') ? path : '/…';
}
