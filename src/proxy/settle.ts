import { unavailableDecision } from '../routing/decision.ts';
import { systemClock } from '../runtime/time.ts';
import { countsAfter, versionSettlesFor } from '../snapshot/routing-table/version-instants.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import type { Decider } from './decider.ts';
import { heldBackFor, isUnconfirmed, untilTold } from './hold-back.ts';
import type { RouterSettings } from './options.ts';

/** Milliseconds over which watches that have waited are opened: all of them end before the version changes. */
const watchesOpenedOver = 3_000;

/** Milliseconds after which silent servers are asked again what they are (`isUnconfirmed` asks them), and how often. */
const untilAskedAgain = 100;
const askedAtMost = 20;

/**
 * Milliseconds for which a request waits at most: as long as a router that begins holds back what depends on the version. When
 * more comes in between, its client asks again (503): a client that renews a Lease gives up after ten seconds (k8s.io/client-go
 * tools/leaderelection, RenewDeadline).
 */
const waitsAtMost = countsAfter + versionSettlesFor;

/** @returns the request, by a new view: what it was decided by may have changed while it waited */
export function decidedAnew({ inbound, requestInfo, caller }: AdmittedRequest, decider: Decider) {
  return decider.decide(inbound, requestInfo, caller);
}

/**
 * Waits while the version that responds is about to change, while servers are untried, and while no server has confirmed which
 * version writes go to. Who cannot confirm it in time gets 503 (`VersionNotConfirmed`) afterwards.
 * @returns the request as it is to be served: as it came, where there is nothing to wait for; else, once it has waited, decided anew
 */
export function settled(
  request: AdmittedRequest,
  decider: Decider,
  settings: RouterSettings,
): AdmittedRequest | Promise<AdmittedRequest> {
  const wait = heldBackFor(request, settings);
  return wait === 0 && !isUnconfirmed(request, settings)
    ? request
    : settledAfter(wait, request, decider, settings);
}

async function settledAfter(
  wait: number,
  request: AdmittedRequest,
  decider: Decider,
  settings: RouterSettings,
): Promise<AdmittedRequest> {
  const { health, random, monotonicClock } = settings;
  // Nobody waits for a client that has left; a transport sends nothing for one.
  const { signal } = request.inbound;
  const isForTrial = health?.areToBeTried();
  let asked = 0;
  let spread = request.requestInfo.verb === 'watch' && !isForTrial ? random() * watchesOpenedOver : 0;
  let waiting = request;
  const since = monotonicClock();
  // Another change may come near while it waits for anything else.
  for (let left = wait; !signal.aborted; left = heldBackFor(waiting, settings)) {
    const rest = since + waitsAtMost - monotonicClock();
    if (left > 0 && rest <= 0) return { ...request, decision: unavailableDecision('ServerNotKnown') };
    if (left === untilTold && health !== undefined) await health.changed(rest, request.inbound);
    else if (left > 0) await systemClock.sleep(Math.min(left, rest), signal);
    // Servers that become several versions are asked at once; who cannot ask them responds with 503.
    else if (asked < askedAtMost && isUnconfirmed(waiting, settings)) {
      asked++;
      await systemClock.sleep(untilAskedAgain, signal);
    } else if (spread > 0) {
      await systemClock.sleep(spread, signal);
      spread = 0;
    } else break;
    waiting = { ...waiting, view: decider.view() };
  }
  return decidedAnew(request, decider);
}
