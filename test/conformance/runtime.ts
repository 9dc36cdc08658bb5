import type { Cluster } from './cluster.ts';
import type { Capability } from './conformance-case.ts';
import type { WireClient } from './wire/exchange.ts';

/** Why a rule is not shown on a runtime. */
export interface Reservation {
  /**
   * - `does not apply`: the rule is about something that does not exist there.
   * - `not possible`: the runtime cannot do it, and the router says so or refuses.
   */
  readonly kind: 'does not apply' | 'not possible';
  /** A sentence, for a footnote. */
  readonly because: string;
}

/** A router that runs. */
export interface RunningRuntime {
  readonly client: WireClient;
  close(): Promise<void>;
}

/** One runtime, or one way of reaching it. */
export interface ConformanceRuntime {
  /** File and column name. */
  readonly id: string;
  /** Heading of its column. */
  readonly title: string;
  /** The runtime in words, for the page. */
  readonly description: string;
  /** Why it cannot run on this machine; `undefined` when it can. */
  readonly missing?: () => string | undefined;
  /** Capabilities that the runtime has not, and why. */
  readonly lacks: Readonly<Partial<Record<Capability, Reservation>>>;
  /** Single cases that cannot be shown, by ID, and why. */
  readonly exceptions?: Readonly<Record<string, Reservation>>;
  /** Starts a router there, without a snapshot. */
  start(cluster: Cluster): Promise<RunningRuntime>;
}
