import { buildRoutingTable, notReadIn } from '../snapshot/routing-table/build-routing-table.ts';
import type { MissingKnowledge, RoutingTable } from '../snapshot/routing-table/routing-table.ts';

/** The API servers as they are known at one moment. Frozen. */
export interface ServersView {
  /** The table of the snapshot in force; `undefined` while there has been none. */
  readonly snapshot: RoutingTable | undefined;
  /**
   * The same with what this router has found of the servers itself: a server that it has lost is not known in it until it has
   * been verified; a server that it has verified is.
   */
  readonly known: RoutingTable | undefined;
}

/** @returns a view for routers that probe no server */
export function plainView(snapshot: RoutingTable | undefined): ServersView {
  return Object.freeze({ snapshot, known: snapshot });
}

/**
 * @param notKnown the servers that are not known, by ID
 * @param isVerified whether this router has verified a server, whatever the snapshot says
 */
export function viewOf(
  snapshot: RoutingTable | undefined,
  notKnown: ReadonlyMap<string, MissingKnowledge>,
  isVerified: (id: string) => boolean,
): ServersView {
  if (snapshot === undefined || (notKnown.size === 0 && snapshot.isEveryServerKnown))
    return plainView(snapshot);
  const unread = [...notReadIn(snapshot.snapshot)].filter(([id]) => !isVerified(id));
  const servers = new Map([...unread, ...notKnown]);
  const made = buildRoutingTable(snapshot.snapshot, servers, snapshot.changes);
  // The members that a renewal or a preferred version has added to the table stay.
  const { createdAt: _createdAt, leadingMinor: _leadingMinor, ...found } = made;
  return Object.freeze({ snapshot, known: Object.freeze({ ...snapshot, ...found }) });
}
