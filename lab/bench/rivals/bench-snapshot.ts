import {
  type ServedSet,
  type Snapshot,
  snapshotApiVersion,
  snapshotKind,
} from '../../../src/snapshot/format/schema.ts';
import { servedSetKey } from '../../../src/snapshot/format/served-set-key.ts';

const groups = 40;
const resourcesOfGroup = 10;

/** ID of the server that the router stands in front of. */
export const localServer = 'apiserver-local';

/** A collection that the local server serves. */
export const localCollection = collectionOf(0);
/** A collection that only the peer serves. */
export const peerCollection = collectionOf(groups - 1);

function groupOf(index: number): string {
  return `group-${String(index).padStart(2, '0')}.example.com`;
}

function collectionOf(group: number): string {
  return `/apis/${groupOf(group)}/v1/namespaces/default/kind0s`;
}

/** 400 resources in two servers: the peer serves all, the local one all but those of the last group. */
export async function benchSnapshot(ports: {
  readonly local: number;
  readonly peer: number;
}): Promise<Snapshot> {
  const [local, peer] = [servedSet(groups - 1), servedSet(groups)];
  const [localKey, peerKey] = await Promise.all([servedSetKey(local), servedSetKey(peer)]);
  return {
    apiVersion: snapshotApiVersion,
    kind: snapshotKind,
    metadata: {
      generation: 1,
      createdAt: new Date().toISOString(),
      source: 'storageversions',
    },
    servers: [
      { id: localServer, address: `127.0.0.1:${ports.local}`, serves: localKey },
      { id: 'apiserver-peer', address: `127.0.0.1:${ports.peer}`, serves: peerKey },
    ],
    servedSets: { [localKey]: local, [peerKey]: peer },
    apiServices: [],
    customResourceGroups: [],
  };
}

function servedSet(groupCount: number): ServedSet {
  const storageVersions: Record<string, string[]> = {};
  for (let group = 0; group < groupCount; group++) {
    for (let kind = 0; kind < resourcesOfGroup; kind++)
      storageVersions[`${groupOf(group)}.kind${kind}s`] = ['v1'];
  }
  return { storageVersions };
}
