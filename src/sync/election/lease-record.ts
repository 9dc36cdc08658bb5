/** What leader election needs of a Lease (coordination.k8s.io/v1 LeaseSpec). */
export interface LeaseRecord {
  /** Empty: nobody holds it. */
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  /** RFC 3339 with microseconds (`metav1.MicroTime`). */
  readonly acquireTime: string;
  readonly renewTime: string;
  /** How often the holder has changed. */
  readonly leaseTransitions: number;
}

/** A Lease as it was read. */
export interface StoredLease {
  readonly record: LeaseRecord;
  /** The object with its resourceVersion, so that only exactly this one is replaced. */
  readonly object: unknown;
}

/** The one Lease that sync jobs compete for. Every method rejects when the API server cannot be asked or refuses. */
export interface LeaseClient {
  /** `undefined`: there is none yet. */
  get(signal: AbortSignal): Promise<StoredLease | undefined>;
  /** Rejects when it exists already. */
  create(record: LeaseRecord, signal: AbortSignal): Promise<StoredLease>;
  /** Rejects when it was changed since (409 Conflict). */
  replace(stored: StoredLease, record: LeaseRecord, signal: AbortSignal): Promise<StoredLease>;
}

/** In the form of `metav1.MicroTime`. @param milliseconds since the epoch */
export function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000Z');
}
