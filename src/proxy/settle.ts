import { systemClock } from '../runtime/time.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import type { Decider } from './decider.ts';
import type { RouterSettings } from './options.ts';

/** Milliseconds over which watches that have waited are opened: all of them end before the version changes. */
const watchesOpenedOver = 3_000;

/** Milliseconds between two looks whether servers have confirmed what they are, and how often it is looked. */
const untilAskedAgain = 100;
const confirmedSoon = 20;

/** @returns the request, by a new view: what it was decided by may have changed while it waited */
export function decidedAnew({ inbound, requestInfo, caller }: AdmittedRequest, decider: Decider) {
  return decider.decide(inbound, requestInfo, caller);
}

/**
 * Waits while the version that responds is about to change, while servers are untried, and while no server has confirmed which
 * version writes go to. Who cannot confirm it in time gets 503 (`VersionNotConfirmed`) afterwards.
 * @returns the request as it is to be served: as it came, where there is nothing to wait for; else decided anew
 */
export async function settled(
  request: AdmittedRequest,
  decider: Decider,
  { health, random }: Pick<RouterSettings, 'health' | 'random'>,
): Promise<AdmittedRequest> {
  const wait = decider.untilVersionSettles(request);
  if (wait === 0 && !decider.isUnconfirmed(request)) return request;
  // Nobody waits for a client that has left; a transport sends nothing for one.
  const { signal } = request.inbound;
  const isForTrial = health?.areToBeTried();
  let unconfirmed = confirmedSoon;
  let spread = request.requestInfo.verb === 'watch' && !isForTrial ? random() * watchesOpenedOver : 0;
  let waiting = request;
  // Another change may come near while it waits for anything else.
  for (let left = wait; !signal.aborted; left = decider.untilVersionSettles(waiting)) {
    if (left > 0) await systemClock.sleep(left, signal);
    // Servers that become several versions are asked at once; who cannot ask them responds with 503.
    else if (unconfirmed > 0 && decider.isUnconfirmed(waiting)) {
      unconfirmed--;
      await systemClock.sleep(untilAskedAgain, signal);
    } else if (spread > 0) {
      await systemClock.sleep(spread, signal);
      spread = 0;
    } else break;
    waiting = { ...waiting, view: decider.view() };
  }
  return decidedAnew(request, decider);
}
