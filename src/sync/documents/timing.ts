/** Milliseconds, unless a name says otherwise. */
export const defaultTiming = {
  /** Between rounds, give or take a tenth. */
  interval: 1_000,
  /** How long a round waits for slow servers; their readings count in a later round. */
  longestWait: 2_000,
  /** From an event of a watch to the next round, because changes come in bursts. */
  settle: 50,

  /** For all documents of one server together. */
  readTimeout: 15_000,
  /** Between reads of a server that fails: it is due again in the next round, as a healthy server is. */
  readBackOff: { initialMilliseconds: 400, maximumMilliseconds: 800 },
  /** For the storage versions of all that one server serves: an extension API server that hangs must not delay the reading. */
  storageVersionTimeout: 2_000,
  concurrentServers: 16,
  /** Documents read at once from one server (classic discovery has one per group version). */
  concurrentDocuments: 8,

  listTimeout: 30_000,
  /** A watch that is silent for this long is closed and opened again: a server sends a bookmark a minute. */
  silence: 90_000,
  /** For how long a watch is asked for, give or take a tenth. The next goes on where it ends: nothing is listed again. */
  watchLifetime: 600_000,
  /** Between attempts to list or watch; its first delay also between watches that ended normally. */
  watchBackOff: { initialMilliseconds: 200, maximumMilliseconds: 10_000 },

  /** How long a server is kept that nothing names and that cannot be read: it may only be restarting. */
  departure: 5_000,
  /**
   * How long the resources of a departed server stay known: it may be restarting, so requests get 503, not 404. 0: not at
   * all. Servers that are listed by hand never depart.
   */
  grace: 900_000,
  /** For the certificate of an endpoint. Not longer: nobody responds at a host that is down, and it may be up a moment later. */
  identityTimeout: 2_000,
  /** How often an endpoint's certificate is read again: certificates are renewed. */
  identityRefresh: 600_000,

  /** Between renewals of an unchanged snapshot, at the end of a round. */
  renewal: 60_000,
  /**
   * Between deliveries to a target that cannot be reached: a router that starts late gets its snapshot within a second, and
   * an attempt without a connection costs little.
   */
  deliveryBackOff: { initialMilliseconds: 250, maximumMilliseconds: 750 },
  /**
   * Between deliveries to a target that refuses them, and between attempts to overtake a newer generation: both need a
   * change by an operator.
   */
  refusalBackOff: { initialMilliseconds: 500, maximumMilliseconds: 10_000 },
  /** How often a target is asked whether it still holds the snapshot. */
  check: 500,
};

export interface SyncTiming extends Readonly<typeof defaultTiming> {
  /**
   * Between rounds while nothing changes and every server can be read, give or take a tenth. Default: `interval`. Events
   * of watches start a round earlier.
   */
  readonly restInterval?: number;
}
