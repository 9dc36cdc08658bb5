import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import type { ServeFlagValues } from '../flags/serve-flags.ts';

/** Milliseconds. docs/reference/limits.md has the reasons. */
const connecting = { dial: 5_000, tlsHandshake: 10_000 };

type TrafficConfig = Pick<ServeConfig, 'timeouts' | 'limits' | 'shutdown'>;

/** Reads how long requests may take, how many there may be and how the router ends; `undefined` after an error. */
export function readTrafficFlags(flags: ServeFlagValues): TrafficConfig | undefined {
  const timeouts = readTimeouts(flags);
  const limits = readLimits(flags);
  const shutdown = flags.values({
    delay: 'shutdown-delay-duration',
    watchTerminationGracePeriod: 'shutdown-watch-termination-grace-period',
  });
  if (timeouts === undefined || limits === undefined || shutdown === undefined) return undefined;
  return { timeouts, limits, shutdown };
}

function readTimeouts(flags: ServeFlagValues): TrafficConfig['timeouts'] | undefined {
  const given = flags.values({ request: 'request-timeout', responseHeader: 'response-header-timeout' });
  if (given === undefined) return undefined;
  const { request, responseHeader } = given;
  const isGiven = flags.isGiven('response-header-timeout');
  if (isGiven && responseHeader >= request) {
    flags.warn(
      'response-header-timeout',
      '--response-header-timeout is not shorter than --request-timeout: no request ever waits that long',
    );
  }
  // What is left is for the second server.
  const silence = isGiven ? responseHeader : Math.min(responseHeader, (request * 3) / 4);
  return { ...connecting, request, responseHeader: silence };
}

function readLimits(flags: ServeFlagValues): TrafficConfig['limits'] | undefined {
  const requestsInFlight = flags.values({
    readOnly: 'max-requests-inflight',
    mutating: 'max-mutating-requests-inflight',
    longRunning: 'max-long-running-requests',
  });
  const goawayChance = flags.value('goaway-chance');
  if (requestsInFlight === undefined || goawayChance === undefined) return undefined;
  return { requestsInFlight, goawayChance };
}
