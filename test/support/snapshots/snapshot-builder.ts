import { createHash } from 'node:crypto';
import { canonicalJson } from '../../../src/runtime/canonical-json.ts';
import { type ServedPaths, servedSetOf } from '../../../src/snapshot/format/handmade-snapshot.ts';
import {
  type ServedSet,
  type Snapshot,
  type SnapshotApiService,
  type SnapshotMetadata,
  type SnapshotServer,
  snapshotApiVersion,
  snapshotKind,
} from '../../../src/snapshot/format/schema.ts';

export interface ServerOptions extends Partial<Omit<SnapshotServer, 'id' | 'serves'>> {
  readonly serves: ServedPaths;
  /** Forces the knowledge of subresources: `true` with none listed means that there are none. */
  readonly knowsSubresources?: boolean;
  readonly discovery?: ServedSet['discovery'];
  readonly openapiV3?: ServedSet['openapiV3'];
  readonly storageVersionHashes?: ServedSet['storageVersionHashes'];
  readonly schemas?: ServedSet['schemas'];
  /** Neither address nor url: known, but not to be reached. */
  readonly withoutAddress?: boolean;
}

export interface SnapshotOptions extends Partial<SnapshotMetadata> {
  readonly apiServices?: readonly SnapshotApiService[];
  readonly customResourceGroups?: Snapshot['customResourceGroups'];
}

/**
 * A valid snapshot in one line: `snapshotOf({ a: ['v1/pods'], b: ['v1/pods', 'batch/v1/jobs'] })`.
 *
 * Keys are API server IDs. Servers get the addresses 10.0.0.1:6443, 10.0.0.2:6443, … in the order in which
 * they are listed. Generation 1, made now, valid for an hour, unless `options` say otherwise.
 */
export function snapshotOf(
  servers: Readonly<Record<string, ServedPaths | ServerOptions>>,
  options: SnapshotOptions = {},
): Snapshot {
  const { apiServices = [], customResourceGroups = [], ...metadata } = options;
  const servedSets = new Map<string, ServedSet>();
  const listed = Object.entries(servers).map(([id, given], index): SnapshotServer => {
    const { serves, knowsSubresources, withoutAddress, ...others } = serverOptions(given);
    const { discovery, openapiV3, storageVersionHashes, schemas, ...rest } = others;
    const described = optional({ discovery, openapiV3, storageVersionHashes, schemas });
    const set = { ...servedSetOf(serves, knowsSubresources), ...described };
    const key = servedSetKeyOf(set);
    servedSets.set(key, set);
    const address =
      withoutAddress === true || rest.url !== undefined ? {} : { address: `10.0.0.${index + 1}:6443` };
    return { id, ...address, ...rest, serves: key };
  });
  return {
    apiVersion: snapshotApiVersion,
    kind: snapshotKind,
    metadata: {
      generation: 1,
      createdAt: new Date().toISOString(),
      source: 'discovery',
      ...metadata,
    },
    servers: listed,
    servedSets: Object.fromEntries(servedSets),
    apiServices,
    customResourceGroups,
  };
}

/** The same key as of `servedSetKey`, without waiting. */
export function servedSetKeyOf(set: ServedSet): string {
  return `sha256:${createHash('sha256').update(canonicalJson(set)).digest('hex')}`;
}

function serverOptions(given: ServedPaths | ServerOptions): ServerOptions {
  return 'serves' in given ? given : { serves: given };
}

function optional<Fields extends object>(fields: Fields): Partial<Fields> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Partial<Fields>;
}
