import type { UnhealthyCause } from './health-state.ts';
import type { HealthChange, HealthObserver, ServerHealth } from './server-health.ts';

export type ConnectionEnd =
  /** Cut: nothing comes from it any more, and a watch would wait for ever. */
  | 'at-once'
  /** No new requests; what is in flight ends as the server ends it. */
  | 'when-idle';

interface ConnectionCloserOptions {
  readonly health: Pick<ServerHealth, 'statusOf' | 'reports'>;
  readonly end: (id: string, how: ConnectionEnd) => void;
}

/**
 * Ends the connections to a server when it becomes unhealthy: once for each time, never again for further failures
 * (k3s-io/k3s pkg/agent/loadbalancer).
 *
 * The connections to the last server that is left stay: their clients would have nowhere to go (k3s-io/k3s#10240). They are
 * ended as soon as another server recovers and this one has not.
 */
export class ConnectionCloser implements HealthObserver {
  readonly #options: ConnectionCloserOptions;
  readonly #postponed = new Map<string, UnhealthyCause | undefined>();

  constructor(options: ConnectionCloserOptions) {
    this.#options = options;
  }

  changed({ id, to, cause }: HealthChange): void {
    if (to === 'unhealthy') this.#postponed.set(id, cause);
    else this.#postponed.delete(id);
    const { health, end } = this.#options;
    if (health.reports().every(({ status }) => status === 'unhealthy')) return;
    for (const [postponed, why] of this.#postponed) {
      // A server that left the snapshot is no longer followed; its connections end with its address.
      if (health.statusOf(postponed) === 'unhealthy')
        end(postponed, why === 'not-ready' ? 'when-idle' : 'at-once');
    }
    this.#postponed.clear();
  }
}
