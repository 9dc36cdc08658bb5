/** Routed and not merged: no `DiscoveryPath`. */
export const openApiV2Path = '/openapi/v2';

export type DiscoveryPath =
  /** `/api` or `/apis`. */
  | { readonly kind: 'groups'; readonly legacy: boolean; readonly trailingSlash: boolean }
  /** `/apis/<group>`. */
  | { readonly kind: 'group'; readonly group: string }
  /** `/api/<version>` (the group is empty) or `/apis/<group>/<version>`. */
  | { readonly kind: 'resources'; readonly group: string; readonly version: string }
  /** `/openapi/v3`. */
  | { readonly kind: 'openapi-v3' };

/**
 * Reads a decoded path. One trailing slash is as good as none, as it is to API servers; not so after
 * `/openapi/v3`, under which documents lie.
 *
 * @returns `undefined` when it names no document that is merged
 */
export function parseDiscoveryPath(path: string): DiscoveryPath | undefined {
  if (path === '/openapi/v3') return { kind: 'openapi-v3' };
  const trailingSlash = path.endsWith('/');
  const [root, prefix, ...names] = (trailingSlash ? path.slice(0, -1) : path).split('/');
  // An empty name would read as the legacy group, which is not under /apis.
  if (root !== '' || names.includes('')) return undefined;
  const [first, second, excess] = names;
  if (excess !== undefined) return undefined;
  if (prefix === 'api') {
    if (first === undefined) return { kind: 'groups', legacy: true, trailingSlash };
    return second === undefined ? { kind: 'resources', group: '', version: first } : undefined;
  }
  if (prefix !== 'apis') return undefined;
  if (first === undefined) return { kind: 'groups', legacy: false, trailingSlash };
  return second === undefined
    ? { kind: 'group', group: first }
    : { kind: 'resources', group: first, version: second };
}
