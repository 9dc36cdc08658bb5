import { readYaml } from '../../node/configuration/read-yaml.ts';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { parseTracingConfiguration } from '../../node/tracing/tracing-configuration.ts';
import { describeIssueOf, type SnapshotIssue } from '../../snapshot/format/issues.ts';
import type { ServeFlagName, ServeFlagValues } from '../flags/serve-flags.ts';

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

/** Reads which records of requests are kept. After an error, which is reported, one is missing. */
export function readRequestRecordsFlags(flags: ServeFlagValues): ServeConfig['records'] {
  return {
    tracing: readDocumentFlag(flags, 'tracing-config-file', parseTracingConfiguration),
  };
}

type ParsedDocument<Value> =
  | { readonly ok: true; readonly value: Value; readonly warnings: readonly SnapshotIssue[] }
  | { readonly ok: false; readonly issues: readonly SnapshotIssue[] };

/**
 * Reads the YAML or JSON document that a flag names; what is wrong with it, and what is only doubtful, is reported
 * under the flag, with the file and the place. `undefined` without the flag and after an error.
 */
function readDocumentFlag<Value>(
  flags: ServeFlagValues,
  name: ServeFlagName,
  parse: (document: unknown) => ParsedDocument<Value>,
): Value | undefined {
  const file = flags.file(name);
  if (file === undefined) return undefined;
  const { path, text } = file;
  const document = readYaml(text);
  if (!document.ok) return flags.issue(name, `--${name}: ${path} ${document.issue}`);
  const parsed = parse(document.value);
  if (!parsed.ok) {
    for (const issue of parsed.issues) flags.issue(name, `--${name}: ${describeIssueOf(path, issue)}`);
    return undefined;
  }
  for (const warning of parsed.warnings) flags.warn(name, `--${name}: ${describeIssueOf(path, warning)}`);
  return parsed.value;
}
