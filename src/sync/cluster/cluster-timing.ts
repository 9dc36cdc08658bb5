import type { BackOff } from '../../runtime/clock.ts';
import type { WatchTiming } from '../documents/object-watch.ts';

/** Milliseconds. */
export interface ClusterTiming extends WatchTiming {
  /** A server that nothing names any longer and that does not answer is kept this long. Default 5,000. */
  readonly departure: number;
  /** How long what a departed server served stays known. 0: it goes at once. Default 900,000. */
  readonly grace: number;
  /** For the certificate of one endpoint. Default 5,000. */
  readonly identityTimeout: number;
  /** An endpoint's certificate is looked at again this often. Default 600,000. */
  readonly identityRefresh: number;
  readonly identityBackOff: BackOff;
}

export const defaultClusterTiming: ClusterTiming = {
  listTimeout: 30_000,
  silence: 90_000,
  resync: 600_000,
  backOff: { initialMilliseconds: 200, maximumMilliseconds: 10_000 },
  departure: 5_000,
  grace: 900_000,
  identityTimeout: 5_000,
  identityRefresh: 600_000,
  identityBackOff: { initialMilliseconds: 1_000, maximumMilliseconds: 60_000 },
};
