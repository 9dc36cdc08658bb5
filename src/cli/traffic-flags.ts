import type { ServeConfig } from '../node/serve-config.ts';
import { readDuration } from './duration-flag.ts';
import type { FlagReport, FlagValues } from './flag-values.ts';

type TrafficConfig = Pick<ServeConfig, 'timeouts' | 'limits' | 'shutdown'>;

/** Beyond any machine; keeps mistyped numbers out. */
const mostRequests = 1_000_000;
/** A day; a timer holds 24 of them. */
const longest = '24h';
/** More would send clients around the servers all the time (kube-apiserver's own bound). */
const highestGoawayChance = 0.02;

/** Reads how long requests may take, how many there may be and how the router ends; `undefined` after a fault. */
export function readTrafficFlags(values: FlagValues, report: FlagReport): TrafficConfig | undefined {
  const timeouts = readTimeouts(values, report);
  const limits = readLimits(values, report);
  const shutdown = readShutdown(values, report);
  if (timeouts === undefined || limits === undefined || shutdown === undefined) return undefined;
  return { timeouts, limits, shutdown };
}

function readTimeouts(values: FlagValues, report: FlagReport): TrafficConfig['timeouts'] | undefined {
  const request = readDuration(values, report, 'request-timeout', { shortest: '1s', longest });
  const dial = readDuration(values, report, 'dial-timeout', { shortest: '100ms', longest: '10m' });
  const tlsHandshake = readDuration(values, report, 'tls-handshake-timeout', {
    shortest: '100ms',
    longest: '10m',
  });
  const responseHeader = readDuration(values, report, 'response-header-timeout', {
    shortest: '0s',
    longest,
  });
  if (
    request === undefined ||
    dial === undefined ||
    tlsHandshake === undefined ||
    responseHeader === undefined
  ) {
    return undefined;
  }
  const isGiven = values.isGiven('response-header-timeout');
  if (isGiven && responseHeader >= request) {
    report.warn(
      'response-header-timeout',
      '--response-header-timeout is not shorter than --request-timeout: no request ever waits that long',
    );
  }
  // What is left is for the second server.
  const longestSilence = isGiven ? responseHeader : Math.min(responseHeader, (request * 3) / 4);
  return { request, dial, tlsHandshake, responseHeader: longestSilence };
}

function readLimits(values: FlagValues, report: FlagReport): TrafficConfig['limits'] | undefined {
  const readOnly = values.integer('max-requests-inflight', 0, mostRequests);
  const mutating = values.integer('max-mutating-requests-inflight', 0, mostRequests);
  const longRunning = values.integer('max-long-running-requests', 0, mostRequests);
  const isBounded = values.isGiven('max-connections');
  const maxConnections = isBounded ? values.integer('max-connections', 1, mostRequests) : undefined;
  const http2MaxStreamsPerConnection = values.integer('http2-max-streams-per-connection', 1, 1_000);
  const goawayChance = readGoawayChance(values, report);
  if (
    readOnly === undefined ||
    mutating === undefined ||
    longRunning === undefined ||
    (isBounded && maxConnections === undefined) ||
    http2MaxStreamsPerConnection === undefined ||
    goawayChance === undefined
  ) {
    return undefined;
  }
  const requestsInFlight = { readOnly, mutating, longRunning };
  return { requestsInFlight, maxConnections, http2MaxStreamsPerConnection, goawayChance };
}

function readGoawayChance(values: FlagValues, report: FlagReport): number | undefined {
  const text = values.text('goaway-chance');
  if (text === undefined) return undefined;
  const chance = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (chance >= 0 && chance <= highestGoawayChance) return chance;
  return report.fault(
    'goaway-chance',
    `--goaway-chance must be a number from 0 to ${highestGoawayChance}, not "${text}"`,
  );
}

function readShutdown(values: FlagValues, report: FlagReport): TrafficConfig['shutdown'] | undefined {
  const range = { shortest: '0s', longest: '1h' };
  const delay = readDuration(values, report, 'shutdown-delay-duration', range);
  const sendRetryAfter = values.boolean('shutdown-send-retry-after');
  const watchTerminationGracePeriod = readDuration(
    values,
    report,
    'shutdown-watch-termination-grace-period',
    range,
  );
  if (delay === undefined || sendRetryAfter === undefined || watchTerminationGracePeriod === undefined) {
    return undefined;
  }
  return { delay, sendRetryAfter, watchTerminationGracePeriod };
}
