import type { APIGroupDiscovery } from '../apimachinery/discovery-types.ts';
import { groupNameOf } from '../apimachinery/group-version.ts';
import { parseAggregated } from './forms/aggregated.ts';
import {
  type ParsedAPIGroup,
  type ParsedAPIResourceList,
  parseAPIGroup,
  parseAPIResourceList,
} from './forms/classic.ts';
import type { DiscoveryPath } from './forms/discovery-path.ts';
import { parseOpenApiV3Index } from './openapi-v3/parse-openapi-v3.ts';

/** What one server says of itself under a path. */
export type OwnDocument =
  /** `/api` and `/apis`: everything, in aggregated form. */
  | { readonly kind: 'groups'; readonly groups: readonly APIGroupDiscovery[] }
  /** `/apis/<group>`. */
  | { readonly kind: 'group'; readonly group: ParsedAPIGroup }
  /** `/api/<version>` and `/apis/<group>/<version>`. */
  | {
      readonly kind: 'resources';
      readonly group: string;
      readonly version: string;
      readonly resources: ParsedAPIResourceList['resources'];
    }
  | { readonly kind: 'openapi-v3'; readonly urls: Readonly<Record<string, string>> };

const aggregated = 'application/json;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList';

/**
 * Accepts the forms of a server's own discovery, newest first. From 1.35 on, plain v2 also holds what peers serve;
 * `profile=nopeer` excludes that, and older servers ignore it. v2beta1 (1.26 to 1.36) and the classic form, which a
 * server without aggregated discovery returns, are never merged (aggregated/wrapper.go).
 */
export const ownDiscoveryAccept = [
  `${aggregated};v=v2;profile=nopeer`,
  `${aggregated};v=v2`,
  `${aggregated};v=v2beta1`,
  'application/json',
].join(',');

/**
 * @param contentType of the response
 * @returns `undefined` where the server has no aggregated form of it: its list of groups is that of the APIService objects,
 *   which all servers share, and says nothing of what it serves
 * @throws {DiscoveryDocumentError} when it is not that document
 */
export function parseOwnDocument(
  path: DiscoveryPath,
  contentType: string,
  text: string,
): OwnDocument | undefined {
  if (path.kind === 'groups' && !/;\s*as=APIGroupDiscoveryList/i.test(contentType)) return undefined;
  const document = JSON.parse(text) as unknown;
  switch (path.kind) {
    case 'groups': {
      // A legacy group counts only where /api gives it, any other one only where /apis does.
      const groups = parseAggregated(document).filter((group) => (groupNameOf(group) === '') === path.legacy);
      return { kind: 'groups', groups };
    }
    case 'group': {
      const group = parseAPIGroup(document);
      return group.name === path.group ? { kind: 'group', group } : undefined;
    }
    case 'resources': {
      const { resources } = parseAPIResourceList(document);
      return { kind: 'resources', group: path.group, version: path.version, resources };
    }
    case 'openapi-v3':
      return { kind: 'openapi-v3', urls: parseOpenApiV3Index(document) };
  }
}
