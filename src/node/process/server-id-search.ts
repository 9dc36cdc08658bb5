import { statusResponse } from '../../apimachinery/status.ts';
import type { HealthCheck } from '../../own-paths/health.ts';
import type { Router } from '../../proxy/admitted-request.ts';
import { ownResponse } from '../../request/transport.ts';
import { errorMessage } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { type Clock, systemClock } from '../../runtime/time.ts';

/** A router waits for this while it does not know in front of which API server it stands. Everyone may ask: no details. */
const waitsFor =
  'this router waits for the identity Lease, or the endpoint, of its API server, by which it learns its ID (--server-id); its log says why';

/** Seconds after which the ID may be known. */
const retryAfterSeconds = 2;

/** @returns a check of readiness that fails until the ID is known */
export function serverIdCheck(isKnown: () => boolean): HealthCheck {
  const reason = () => (isKnown() ? undefined : waitsFor);
  return { name: 'server-id', check: reason, warning: reason };
}

/** For a router whose ID is not known: every request gets 503 until it is, and its own health alone is answered. */
export function refuseUntilKnown<Steps extends Pick<Router, 'identify'>>(
  router: Steps,
  isKnown: () => boolean,
): Steps {
  const { identify } = router;
  const refuse = () => ownResponse(statusResponse('ServiceUnavailable', waitsFor, { retryAfterSeconds }));
  return { ...router, identify: (inbound) => (isKnown() ? identify(inbound) : refuse()) };
}

/** Milliseconds. */
const retryInterval = 2_000;
/** Milliseconds after which the same reason is told again: a log that is read later begins somewhere. */
const toldAgainAfter = 60_000;

/**
 * An API server that starts with this node cannot tell yet: it is asked until it can. The reason is logged, and again each
 * minute.
 * @param attempt rejects with the reason why it has failed
 * @returns `undefined` after an abort
 */
export async function searchUntilFound<Found>(
  attempt: () => Promise<Found>,
  logger: Logger,
  signal: AbortSignal,
  clock: Pick<Clock, 'monotonic' | 'sleep'> = systemClock,
): Promise<Found | undefined> {
  const told = new Map<string, number>();
  while (!signal.aborted) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted) return undefined;
      const reason = errorMessage(error);
      const now = clock.monotonic();
      const before = told.get(reason);
      if (before === undefined || now - before >= toldAgainAfter) {
        told.set(reason, now);
        logger.warn(
          { reason, retryAfterSeconds },
          'The ID of the local API server is not known yet: the router is not ready, and asks again',
        );
      }
      await clock.sleep(retryInterval, signal);
    }
  }
  return undefined;
}
