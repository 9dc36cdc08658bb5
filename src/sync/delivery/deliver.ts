import { errorMessage } from '../../runtime/errors.ts';
import type { Snapshot } from '../../snapshot/format/schema.ts';
import type { HeldSnapshot } from '../../snapshot/receiving/snapshot-endpoint.ts';
import { sealedDigest } from '../../snapshot/signing/open-sealed.ts';
import { type SigningKey, sealRenewal, sealSnapshot } from '../../snapshot/signing/seal.ts';

/** A snapshot, ready to be delivered. */
export interface Delivery {
  readonly snapshot: Snapshot;
  /** Signed; `undefined` without a signing key: only files accept that. */
  readonly sealed: SealedDelivery | undefined;
}

export interface SealedDelivery {
  /** Compact JWS of the snapshot. */
  readonly snapshot: string;
  /** Compact JWS that makes the snapshot young again; `undefined` before the first renewal. */
  readonly renewal: string | undefined;
  /** What a router holds that has accepted both. */
  readonly held: HeldSnapshot;
}

/**
 * Seals a snapshot for its first delivery. @throws {SnapshotError} for a snapshot that every receiver would refuse.
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
 * The same snapshot, renewed.
 *
 * @param now milliseconds since the epoch; its age counts from here
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
  const { generation } = snapshot.metadata;
  const { digest } = sealed.held;
  const renewal = await sealRenewal({ generation, digest, createdAt }, key);
  return {
    snapshot,
    sealed: { snapshot: sealed.snapshot, renewal, held: { digest, createdAt: Date.parse(createdAt) } },
  };
}

export type DeliveryResult =
  /** The target holds this snapshot. */
  | { readonly kind: 'accepted' }
  /** The target holds another snapshot with the same or a higher generation (409). */
  | { readonly kind: 'newer-held'; readonly generation: number | undefined; readonly message: string }
  /** The target refuses it (401, 413, 422, …) until an operator changes something. */
  | { readonly kind: 'refused'; readonly message: string }
  /** No response, or one that asks to retry later. */
  | { readonly kind: 'unreachable'; readonly message: string };

/** A receiver of snapshots: a router, a file, a store. Each has its own retries. */
export interface SnapshotTarget {
  /** For logs and status, for example the router's URL or the file's name. */
  readonly name: string;
  /**
   * Delivers a snapshot once; only its renewal, if the target already holds the snapshot. Never throws: a failure is in
   * the result.
   */
  put(delivery: Delivery, signal: AbortSignal): Promise<DeliveryResult>;
  /**
   * Asks with a small request whether the target still holds what it has accepted: after a restart, a router may not. A
   * target without this method gets its snapshot again from time to time.
   * @throws if it cannot be reached
   */
  holds?(delivery: Delivery, signal: AbortSignal): Promise<boolean>;
  /** Whether it refuses creation times in the future. If so, what it accepts shows that the sync job's clock is right. */
  readonly checksCreationTime?: boolean;
}

/** Delivers once. A target of a library user that throws must not end the sync job, or a delivery to another target. */
export async function deliverTo(
  target: SnapshotTarget,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<DeliveryResult> {
  try {
    return await target.put(delivery, signal);
  } catch (error) {
    return { kind: 'unreachable', message: errorMessage(error) };
  }
}
