import type { HealthCheck } from './health.ts';

/**
 * Readiness ends with the first signal to end, long before the router does, so that load balancers take it out
 * while it still serves (kube-apiserver's `/readyz/shutdown`).
 */
export function shutdownCheck(isShuttingDown: () => boolean): HealthCheck {
  return {
    name: 'shutdown',
    check: () => (isShuttingDown() ? 'the process is shutting down' : undefined),
  };
}
