import assert from 'node:assert/strict';
import { type Logger, silentLogger } from '../../../src/runtime/logger.ts';
import {
  type AddressPolicyOptions,
  createAddressPolicy,
} from '../../../src/snapshot/addresses/address-policy.ts';
import { OwnSnapshotReceiver } from '../../../src/snapshot/receiving/own-receiver.ts';
import { SnapshotReceiver } from '../../../src/snapshot/receiving/receiver.ts';
import {
  createMemorySnapshotStore,
  type SnapshotStore,
} from '../../../src/snapshot/receiving/snapshot-store.ts';
import { type PinnedKeySet, parseSnapshotKeys } from '../../../src/snapshot/signing/keys.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../../../src/snapshot/signing/seal.ts';
import { type SnapshotOptions, snapshotOf } from './snapshot-builder.ts';

/** Two keys, both pinned: one that is on its way out, and the next one. */
export const old = await generateSigningKey('ES256');
export const next = await generateSigningKey('ES256');
export const noon = Date.UTC(2026, 0, 1, 12);
export const minute = 60_000;

/** A key set of these public JWKs. */
export async function pinned(...jwks: object[]): Promise<PinnedKeySet> {
  const result = await parseSnapshotKeys(JSON.stringify({ keys: jwks }));
  assert.ok(result.ok);
  return result.keys;
}
export const keys = await pinned(old.publicJwk, next.publicJwk);

/** RFC 3339. */
export function at(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

interface Setup {
  readonly store?: SnapshotStore;
  readonly policy?: AddressPolicyOptions;
  readonly pinnedKeys?: PinnedKeySet;
  readonly logger?: Logger;
  readonly cluster?: string;
}

/** A receiver whose clock stands at noon until it is set. */
export function receiverWith(setup: Setup = {}) {
  const { options, ...rest } = receiverOptions(setup);
  return { receiver: new SnapshotReceiver(options), ...rest };
}

/** As `receiverWith`, of a router that reads the cluster itself. */
export function ownReceiverWith(setup: Setup = {}) {
  const { options, ...rest } = receiverOptions(setup);
  return { receiver: new OwnSnapshotReceiver(options), ...rest };
}

function receiverOptions({
  store = createMemorySnapshotStore(),
  policy = {},
  pinnedKeys = keys,
  logger = silentLogger,
  cluster,
}: Setup) {
  const clock = { now: noon };
  const options = {
    keys: () => pinnedKeys,
    addressPolicy: createAddressPolicy(policy),
    store,
    cluster,
    now: () => clock.now,
    logger,
  };
  return { options, clock, store };
}

/** Generation and resources, sealed; made at noon. */
export function sealed(
  generation: number,
  paths = ['v1/pods'],
  options: SnapshotOptions = {},
  key = old,
): Promise<string> {
  const defaults = { generation, createdAt: at(noon) };
  return sealSnapshot(snapshotOf({ a: paths }, { ...defaults, ...options }), signingKeyOf(key.privateJwk));
}

/** A store whose writes end when the test says so. */
export function heldStore() {
  const kept: string[] = [];
  const writes: PromiseWithResolvers<void>[] = [];
  const store: SnapshotStore = {
    load: async () => kept.at(-1),
    save: async (snapshot) => {
      const write = Promise.withResolvers<void>();
      writes.push(write);
      await write.promise;
      kept.push(snapshot);
    },
  };
  return { kept, writes, store };
}
