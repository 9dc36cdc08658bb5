import { groupVersionString } from '../../apimachinery/group-version.ts';
import { parseDiscoveryPath } from '../../discovery/forms/discovery-path.ts';
import { errorMessage } from '../../runtime/errors.ts';
import type { APIGroupDiscovery, APIResourceDiscovery } from '../../snapshot/format/schema.ts';
import {
  type ServedSet,
  type Snapshot,
  type SnapshotServer,
  storageVersionNameIssue,
} from '../../snapshot/format/schema.ts';
import { ReadError, type ReadErrorCode, type ServerDocuments } from './server-documents.ts';

export interface ServerDescription
  extends Pick<SnapshotServer, 'id' | 'address' | 'url' | 'addressSource' | 'serverName' | 'hostname'> {
  /** `https://host:port` to read it at, if its address for routers leads to a router in front of it. */
  readonly readFrom?: string | undefined;
  /** Holder of its Lease, which differs for each process of it. A new process is read at once. */
  readonly holderIdentity?: string | undefined;
  /** When it departed, milliseconds since the epoch; it may come back. */
  readonly departedAt?: number | undefined;
}

export interface SyncServer extends ServerDescription {
  /** A new object when the server has a new address: it is read at once then. */
  readonly documents: ServerDocuments;
}

export type OpenApiReading =
  /** Path to `serverRelativeURL`, as in `ServedSet.openapiV3`. */
  | { readonly kind: 'read'; readonly paths: Readonly<Record<string, string>> }
  /** The server has none (before 1.24). */
  | { readonly kind: 'not-served' }
  | { readonly kind: 'failed'; readonly reason: string };

/**
 * The result of reading one server: everything that it serves, or why that is not known. There is nothing in between, so
 * an error never looks like a server that serves less.
 */
export type ServerReading = SuccessfulReading | FailedReading;

export interface FailedReading {
  readonly ok: false;
  readonly code: ReadErrorCode;
  readonly reason: string;
}

export function failedReading(error: unknown): FailedReading {
  // The discovery parsers have an error class of their own, for documents of another form.
  const code = error instanceof ReadError ? error.code : 'InvalidDocument';
  return { ok: false, code, reason: errorMessage(error) };
}

export interface SuccessfulReading {
  readonly ok: true;
  /** Without `openapiV3`, which may fail on its own. */
  readonly set: ServedSet;
  readonly openApi: OpenApiReading;
  /** `gitVersion` of `/version`; `undefined` when it could not be read. */
  readonly version: string | undefined;
  /** The minor version that it behaves like, where that is another one than its own. */
  readonly emulates?: string | undefined;
  /** A digest of which feature gates are on; `undefined` where that is not known. */
  readonly featureGates?: string | undefined;
  /** Why `/version` was read and its version does not count. */
  readonly versionIssue?: string | undefined;
}

/** The start of a server, as far as it was seen: it became ready between two instants of a clock that only rises. */
export interface SeenStart {
  /** Instant at which it said that it was not ready, or its process of before was there. Left out: it never said so. */
  readonly notReadyAt?: number | undefined;
  readonly readyAt: number;
  /** True: before it the server may have been of a version that this reader has not read, and that others go by. */
  readonly isAfterUnread?: boolean;
}

/**
 * The state of a server, as its reader knows it: the words of `ReaderRecord`, and of one that is waited for no longer, why it
 * cannot be read. What it serves is as last known in every state but `ready`.
 */
export const readerStates = [
  'untried',
  'ready',
  'restarting',
  'unverified',
  'unready',
  'unreachable',
  'departed',
] as const;

export type ReaderStateName = (typeof readerStates)[number];

export interface LastKnownServer {
  readonly server: SnapshotServer;
  readonly set: ServedSet;
}

export function lastKnown(previous: Snapshot | undefined, id: string): LastKnownServer | undefined {
  const server = previous?.servers.find((candidate) => candidate.id === id);
  const set = server === undefined ? undefined : previous?.servedSets[server.serves];
  return server === undefined || set === undefined ? undefined : { server, set };
}

export interface DiscoveredGroupVersion {
  readonly group: string;
  readonly version: string;
  readonly groupVersion: string;
  readonly resources: readonly APIResourceDiscovery[];
  readonly isStale: boolean;
}

export function* groupVersionsIn(
  discovery: readonly APIGroupDiscovery[] = [],
): Generator<DiscoveredGroupVersion> {
  for (const { metadata, versions = [] } of discovery) {
    const group = metadata.name ?? '';
    for (const { version, resources = [], freshness } of versions) {
      const groupVersion = groupVersionString(group, version);
      yield { group, version, groupVersion, resources, isStale: freshness === 'Stale' };
    }
  }
}

/**
 * OpenAPI v3 is always JSON. The index (seen from 1.25 to 1.33) and the documents of servers before 1.31 have no declared
 * type, so Go detects one from the content.
 */
export const openApiTypes = ['application/json', 'text/plain'];

/**
 * The documents of group versions that an index names, by group version. Those of groups do not count.
 *
 * @param paths path to `serverRelativeURL`
 */
export function documentsIn(paths: Readonly<Record<string, string>> = {}): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(paths).flatMap(([path, url]) => {
      const named = parseDiscoveryPath(`/${path}`);
      return named?.kind === 'resources' ? [[groupVersionString(named.group, named.version), url]] : [];
    }),
  );
}

/** Entries of a record by `<group>.<resource>` that a snapshot can hold. */
export function acceptableNames<Value>(byName: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(byName).filter(([name]) => storageVersionNameIssue(name) === undefined),
  );
}

/** Observes the sync job, for metrics. Must not throw. */
export interface SyncObserver {
  serverRead(event: { readonly seconds: number; readonly result: 'success' | 'failure' }): void;
  delivered(event: {
    readonly target: string;
    readonly seconds: number;
    readonly result: 'accepted' | 'newer-held' | 'refused' | 'unreachable';
  }): void;
}
