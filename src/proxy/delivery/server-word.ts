import { minorVersion } from '../../apimachinery/server-version.ts';
import type { ServedSet } from '../../snapshot/format/types.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';

/** What a server says of itself. */
export interface ServerWord {
  /** `gitVersion`. Left out: it does not say. */
  readonly version: string | undefined;
  /** From its own discovery. Left out: it does not say, or not in aggregated form (before 1.26). */
  readonly served: Pick<ServedSet, 'storageVersions'> | undefined;
}

/**
 * Whether a snapshot says of a server what it says of itself: its minor version, and every resource that it serves. Custom
 * resources and those of extension API servers are every server's, and come and go. A server that the snapshot does not
 * have, and what a server does not say, contradicts nothing. Pure.
 */
export function isAsTheSnapshotSays(
  id: string,
  { version, served }: ServerWord,
  table: RoutingTable | undefined,
): boolean {
  const server = table?.snapshot.servers.find((listed) => listed.id === id);
  if (table === undefined || server === undefined) return true;
  const [minor, minorSaid] = [minorVersion(version), minorVersion(server.version)];
  if (minor !== undefined && minorSaid !== undefined && minor !== minorSaid) return false;
  if (served === undefined) return true;
  const said = new Map(Object.entries(table.snapshot.servedSets[server.serves]?.storageVersions ?? {}));
  const isShared = (name: string, each: string): boolean => {
    const dot = name.lastIndexOf('.');
    const group = name.slice(0, dot);
    return table.isCustomResource(group, each) || table.extension(group, each) !== undefined;
  };
  const serves = new Map(Object.entries(served.storageVersions));
  const isServed = [...said].every(([name, versions]) =>
    versions.every((each) => serves.get(name)?.includes(each) === true),
  );
  const isSaid = [...serves].every(([name, versions]) =>
    versions.every((each) => said.get(name)?.includes(each) === true || isShared(name, each)),
  );
  return isServed && isSaid;
}
