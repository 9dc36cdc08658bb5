/** The fields of a Lease that leader election uses (coordination.k8s.io/v1 LeaseSpec). */
export interface LeaseRecord {
  /** Empty: it has no holder. */
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  /** RFC 3339 with microseconds (`metav1.MicroTime`). */
  readonly acquireTime: string;
  readonly renewTime: string;
  readonly leaseTransitions: number;
}

/** A Lease as it was read. */
export interface StoredLease {
  readonly record: LeaseRecord;
  /** The object with its resourceVersion, so that only this version is replaced. */
  readonly object: unknown;
}

/** The Lease that sync jobs compete for. Every method rejects if the API server cannot be reached or refuses. */
export interface LeaseClient {
  /** `undefined`: it does not exist. */
  get(signal: AbortSignal): Promise<StoredLease | undefined>;
  /** Rejects if it exists. */
  create(record: LeaseRecord, signal: AbortSignal): Promise<StoredLease>;
  /** Rejects if it was changed since (409 Conflict). */
  replace(stored: StoredLease, record: LeaseRecord, signal: AbortSignal): Promise<StoredLease>;
}

/** A time as `metav1.MicroTime`. @param milliseconds since the epoch */
export function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('Z', '000Z');
}
