import type { HealthChange, ServerBook } from './server-book.ts';

export type ConnectionEnd =
  /** Cut: nothing comes from it any more, and a watch would wait for ever. */
  | 'at-once'
  /** No new requests; what is in flight ends as the server ends it. */
  | 'when-idle';

/**
 * Ends the connections to a server when it goes down: once for each time, never again for further failures
 * (k3s-io/k3s pkg/agent/loadbalancer).
 *
 * The connections to the last server that is left stay: their clients would have nowhere to go (k3s-io/k3s#10240). They are
 * ended as soon as another server recovers and this one has not.
 * @returns is to be told of each change of status
 */
export function connectionCloser(
  health: Pick<ServerBook, 'isDown' | 'reports'>,
  end: (id: string, how: ConnectionEnd) => void,
): (change: HealthChange) => void {
  const postponed = new Map<string, HealthChange>();
  return (change) => {
    if (change.isDown) postponed.set(change.id, change);
    else postponed.delete(change.id);
    if (health.reports().every(({ isDown }) => isDown)) return;
    for (const [id, { status, reason }] of postponed) {
      const isAnswering = status === 'unready' || reason === 'NotReady';
      // A server that left the snapshot is no longer followed; its connections end with its address.
      if (health.isDown(id)) end(id, isAnswering ? 'when-idle' : 'at-once');
    }
    postponed.clear();
  };
}
