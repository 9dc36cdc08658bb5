import { minorVersion } from '../apimachinery/server-version.ts';
import { parseDiscoveryPath } from '../discovery/forms/discovery-path.ts';
import type { ServedSet } from '../snapshot/format/schema.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';

/** The word that a server gives of itself. */
export interface ServerWord {
  /** `gitVersion`. Left out: the server does not say. */
  readonly version: string | undefined;
  /** The minor version that the server behaves like, where it is another one than its own. */
  readonly emulates?: string | undefined;
  /** From the server's own discovery. Left out: the server does not say, or not in aggregated form (before 1.26). */
  readonly served: Pick<ServedSet, 'storageVersions'> | undefined;
  /** The server's OpenAPI v3 index, as `ServedSet.openapiV3`. Left out: the server does not say. */
  readonly openApi?: ServedSet['openapiV3'];
}

/**
 * True if a snapshot says of a server the same as the server itself: its minor version, the one that it emulates, every
 * resource that it serves, and the hashes of its OpenAPI documents, which other flags change, too. Custom resources and those
 * of extension API servers are every server's, and come and go. A server that the snapshot does not have, and what a server
 * does not say, contradicts nothing. Pure.
 */
export function isAsTheSnapshotSays(
  id: string,
  { version, emulates, served, openApi = {} }: ServerWord,
  table: RoutingTable | undefined,
): boolean {
  const server = table?.snapshot.servers.find((listed) => listed.id === id);
  if (table === undefined || server === undefined) return true;
  const [minor, minorSaid] = [minorVersion(version), minorVersion(server.version)];
  const areKnown = minor !== undefined && minorSaid !== undefined;
  if (areKnown && (minor !== minorSaid || emulates !== server.emulates)) return false;
  const set = table.snapshot.servedSets[server.serves];
  const isSharedVersion = (group: string, each: string): boolean =>
    table.isCustomResource(group, each) || table.extension(group, each) !== undefined;
  const indexSaid = new Map(Object.entries(set?.openapiV3 ?? {}));
  const isOtherwise = Object.entries(openApi).some(([path, url]) => {
    const document = parseDiscoveryPath(`/${path}`);
    if (document?.kind !== 'resources' || isSharedVersion(document.group, document.version)) return false;
    const [hash, hashSaid] = [hashIn(url), hashIn(indexSaid.get(path))];
    return hash !== undefined && hashSaid !== undefined && hash !== hashSaid;
  });
  if (isOtherwise) return false;
  if (served === undefined) return true;
  const said = new Map(Object.entries(set?.storageVersions ?? {}));
  const isShared = (name: string, each: string) =>
    isSharedVersion(name.slice(0, name.lastIndexOf('.')), each);
  const serves = new Map(Object.entries(served.storageVersions));
  const isServed = [...said].every(([name, versions]) =>
    versions.every((each) => serves.get(name)?.includes(each) === true),
  );
  const isSaid = [...serves].every(([name, versions]) =>
    versions.every((each) => said.get(name)?.includes(each) === true || isShared(name, each)),
  );
  return isServed && isSaid;
}

function hashIn(url: string | undefined): string | undefined {
  return /[?&]hash=(\w+)/.exec(url ?? '')?.[1];
}
