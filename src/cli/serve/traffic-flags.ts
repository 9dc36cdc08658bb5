import type { HealthConfig, ServeConfig } from '../../node/configuration/serve-config.ts';
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

/**
 * A probe that takes five seconds is one that a load balancer would have given up, too. Two good answers bring a server
 * back, three bad ones take it out, as in HAProxy. A recovered server has cold caches: it gets its part over half a minute.
 */
const probing: Omit<HealthConfig, 'interval'> = { timeout: 5_000, rise: 2, fall: 3, slowStart: 30_000 };

/**
 * Reads how the health of the API servers is found out: `'off'` where they are not probed, `undefined` after an
 * error. With the feature gate off there is no server to choose from, and nothing is probed.
 */
export function readHealthFlags(
  flags: ServeFlagValues,
  featureGateEnabled: boolean,
): HealthConfig | 'off' | undefined {
  if (!featureGateEnabled) return 'off';
  const name = 'health-check-interval';
  const interval = flags.value(name);
  // Shorter ones would be a load of their own for the servers.
  if (interval !== undefined && interval > 0 && interval < 100) {
    flags.issue(name, `--${name} must be 0s or at least 100ms, not "${flags.text(name)}"`);
  }
  if (interval === undefined) return undefined;
  return interval === 0 ? 'off' : { interval, ...probing };
}
