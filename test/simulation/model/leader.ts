import type { ClientResponse } from '../invariants/invariants.ts';
import type { Clients } from './client.ts';
import type { RouterNode } from './router-node.ts';

/** Milliseconds: RenewDeadline, RetryPeriod, and the time-out of one request (k8s.io/component-base, leader election). */
const renewDeadline = 10_000;
const retryPeriod = 2_000;
const requestTimeout = renewDeadline / 2;
/** client-go asks again so many times where a response says when to (rest/with_retry.go). */
const maxRetries = 10;

const target = '/apis/coordination.k8s.io/v1/namespaces/default/leases/leader';

/**
 * A controller that is the leader while it renews its Lease, through a load balancer that gives it another router after each
 * failure, as for a connection that has broken. It ends when it cannot for ten seconds.
 */
export function startLeader(clients: Clients): void {
  const { world, machine } = clients;
  const { run, invariants, store } = world;
  store.put('leases.coordination.k8s.io', 'leader', { spec: '0' });
  let router: RouterNode = clients.pickRouter('leader');
  let renewedAt = run.now;
  let isDisturbed = true;

  const pause = (milliseconds: number): Promise<undefined> =>
    new Promise((resolve) => {
      run.after(milliseconds, () => resolve(undefined), machine);
    });

  async function renew(): Promise<boolean> {
    for (let retries = 0; ; retries++) {
      const body = { spec: `${run.now}` };
      const asked = clients.ask({ router, method: 'PUT', target, body });
      const response = await Promise.race([asked, pause(requestTimeout)]);
      const seconds = response && secondsToWait(response);
      const isOver = retries === maxRetries || run.now - renewedAt > renewDeadline;
      if (seconds === undefined || isOver) return response?.status === 200;
      await pause(seconds * 1_000);
    }
  }

  async function loop(): Promise<void> {
    const isRenewed = await renew();
    // A router makes no promise while nodes are cut off, stand still or restart: another one is asked, in the end.
    const nodes = ['*', 'sync', ...world.routers.map(({ node }) => node)];
    isDisturbed ||= nodes.some((node) => world.disturbedSince(node) !== undefined);
    const late = run.now - renewedAt;
    if (!isDisturbed) invariants.margin('left of the time to renew a Lease', renewDeadline - late);
    if (!isDisturbed && late > renewDeadline)
      invariants.violated('leader-lost', `a leader could not renew its Lease for ${late.toFixed(0)} ms`);
    if (isRenewed) {
      renewedAt = run.now;
      isDisturbed = false;
      invariants.count('a leader renewed its Lease');
    } else router = clients.pickRouter('leader');
    run.after(retryPeriod, () => void loop(), machine);
  }

  run.after(1_500, () => void loop(), machine);
}

/** @returns `undefined`: client-go does not ask again by itself */
function secondsToWait({ status, headers }: ClientResponse): number | undefined {
  const at = headers.indexOf('retry-after');
  return (status === 429 || status >= 500) && at !== -1 ? Number(headers[at + 1]) : undefined;
}
