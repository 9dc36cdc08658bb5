import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import type { ServeFlagValues } from '../flags/serve-flags.ts';

type TrafficConfig = Pick<ServeConfig, 'timeouts' | 'limits' | 'shutdown'>;

/** Reads how long requests may take, how many there may be and how the router ends; `undefined` after an error. */
export function readTrafficFlags(flags: ServeFlagValues): TrafficConfig | undefined {
  const timeouts = readTimeouts(flags);
  const limits = readLimits(flags);
  const shutdown = flags.values({
    delay: 'shutdown-delay-duration',
    sendRetryAfter: 'shutdown-send-retry-after',
    watchTerminationGracePeriod: 'shutdown-watch-termination-grace-period',
  });
  if (timeouts === undefined || limits === undefined || shutdown === undefined) return undefined;
  return { timeouts, limits, shutdown };
}

function readTimeouts(flags: ServeFlagValues): TrafficConfig['timeouts'] | undefined {
  const timeouts = flags.values({
    request: 'request-timeout',
    dial: 'dial-timeout',
    tlsHandshake: 'tls-handshake-timeout',
    responseHeader: 'response-header-timeout',
  });
  if (timeouts === undefined) return undefined;
  const { request, responseHeader } = timeouts;
  const isGiven = flags.isGiven('response-header-timeout');
  if (isGiven && responseHeader >= request) {
    flags.warn(
      'response-header-timeout',
      '--response-header-timeout is not shorter than --request-timeout: no request ever waits that long',
    );
  }
  // What is left is for the second server.
  return isGiven ? timeouts : { ...timeouts, responseHeader: Math.min(responseHeader, (request * 3) / 4) };
}

function readLimits(flags: ServeFlagValues): TrafficConfig['limits'] | undefined {
  const requestsInFlight = flags.values({
    readOnly: 'max-requests-inflight',
    mutating: 'max-mutating-requests-inflight',
    longRunning: 'max-long-running-requests',
  });
  const maxConnections = flags.value('max-connections');
  const others = flags.values({
    http2MaxStreamsPerConnection: 'http2-max-streams-per-connection',
    goawayChance: 'goaway-chance',
  });
  if (requestsInFlight === undefined || others === undefined) return undefined;
  // Left out, it is what the process can have; one that is invalid has been reported.
  return { requestsInFlight, maxConnections, ...others };
}
