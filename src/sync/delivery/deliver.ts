import type { Snapshot } from '../../snapshot/format/types.ts';
import type { HeldSnapshot } from '../../snapshot/receiving/snapshot-endpoint.ts';
import { sealRenewal } from '../../snapshot/signing/renewal.ts';
import { sealSnapshot } from '../../snapshot/signing/seal.ts';
import type { SigningKey } from '../../snapshot/signing/signing-key.ts';
import { sealedDigest } from '../../snapshot/signing/verify-sealed.ts';

/** A snapshot, ready to leave. */
export interface Delivery {
  readonly snapshot: Snapshot;
  /** Signed; `undefined` where the sync job was given no signing key, which only files can take. */
  readonly sealed: SealedDelivery | undefined;
}

export interface SealedDelivery {
  /** Compact JWS of the snapshot. */
  readonly snapshot: string;
  /** Compact JWS that gives the snapshot a new lifetime; `undefined` while its first one is young. */
  readonly renewal: string | undefined;
  /** What a router that has taken both holds. */
  readonly held: HeldSnapshot;
}

/**
 * Seals a snapshot for its first delivery. @throws {SnapshotError} for what no receiver would take.
 *
 * @example
 * ```ts
 * const delivery = await sealDelivery(snapshot, signingKeyOf(privateJwk));
 * const { kind } = await fileTarget({ file: join(folder, 'snapshot') }).put(delivery, signal);
 * console.log(kind); // accepted
 * ```
 */
export async function sealDelivery(snapshot: Snapshot, key: SigningKey | undefined): Promise<Delivery> {
  if (key === undefined) return { snapshot, sealed: undefined };
  const jws = await sealSnapshot(snapshot, key);
  const held = { digest: await sealedDigest(jws), createdAt: Date.parse(snapshot.metadata.createdAt) };
  return { snapshot, sealed: { snapshot: jws, renewal: undefined, held } };
}

/**
 * The same snapshot with a new lifetime.
 *
 * @param now milliseconds since the epoch; the lifetime starts anew here
 *
 * @example
 * ```ts
 * const delivery = await sealDelivery(snapshot, signingKeyOf(privateJwk));
 * const renewed = await renewDelivery(delivery, signingKeyOf(privateJwk), Date.now());
 * console.log(renewed.sealed?.snapshot === delivery.sealed?.snapshot); // true
 * ```
 */
export async function renewDelivery(
  { snapshot, sealed }: Delivery,
  key: SigningKey | undefined,
  now: number,
): Promise<Delivery> {
  const createdAt = new Date(now).toISOString();
  if (key === undefined || sealed === undefined) {
    return { snapshot: { ...snapshot, metadata: { ...snapshot.metadata, createdAt } }, sealed: undefined };
  }
  const { generation, lifetimeSeconds } = snapshot.metadata;
  const { digest } = sealed.held;
  const renewal = await sealRenewal({ generation, digest, createdAt, lifetimeSeconds }, key);
  return {
    snapshot,
    sealed: { snapshot: sealed.snapshot, renewal, held: { digest, createdAt: Date.parse(createdAt) } },
  };
}

export type DeliveryResult =
  /** The target holds this snapshot now, or held it already. */
  | { readonly kind: 'accepted' }
  /** The target holds another one that is as new or newer (409). */
  | { readonly kind: 'newer-held'; readonly generation: number | undefined; readonly message: string }
  /** The target will not have it (401, 413, 422, …): somebody has to change something. */
  | {
      readonly kind: 'refused';
      readonly message: string;
      /** It is not taken for a snapshot (422). */
      readonly isInvalid?: boolean;
    }
  /** No answer, or one that says to come back later. */
  | { readonly kind: 'unreachable'; readonly message: string };

/** Where snapshots go: a router, a file, a store. Each is retried on its own. */
export interface SnapshotTarget {
  /** For logs and status, for example the router's URL or the file's name. */
  readonly name: string;
  /**
   * Hands over a snapshot, once; a renewal in place of the snapshot where the target holds that already.
   * Never throws: whatever went wrong is in the result.
   */
  put(delivery: Delivery, signal: AbortSignal): Promise<DeliveryResult>;
  /**
   * Asks, cheaply, whether the target still holds what it has taken: a router that was restarted may not. A
   * target without this is handed its snapshot again now and then.
   * @throws when it cannot be asked
   */
  holds?(delivery: Delivery, signal: AbortSignal): Promise<boolean>;
  /** That it refuses what was made in the future, so that what it accepts vouches for the sync job's clock. */
  readonly checksCreationTime?: boolean;
}
