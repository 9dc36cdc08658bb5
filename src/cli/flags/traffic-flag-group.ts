import type { FlagGroup } from './flag.ts';
import { boolean, choice, duration, number, preferredVersion, wholeNumber } from './flag-types.ts';

/** How long requests may take, how many there may be, and how the router ends. */
export const trafficFlagGroup = {
  heading: 'Time-out, overload and shutdown flags:',
  flags: [
    {
      name: 'request-timeout',
      key: 'timeouts.request',
      value: duration('1s', '24h'),
      default: '60s',
      description:
        'How long a request may take as a whole: 503 with Retry-After (reads) or 504 (writes) before the response begins, broken off afterwards. Watches, logs, exec and the like have no such limit.',
    },
    {
      name: 'response-header-timeout',
      key: 'timeouts.responseHeader',
      value: duration('0s', '24h'),
      default: '45s',
      description:
        'How long a server may take to begin its response to a read before another server is asked instead; when not given, at most three quarters of --request-timeout. Writes and long-running requests have no such limit. 0s: only --request-timeout counts.',
    },
    {
      name: 'max-requests-inflight',
      key: 'limits.requestsInFlight',
      value: wholeNumber(0, 1_000_000),
      default: '4000',
      description: 'Reading requests in flight at a time; more get 429. 0: no limit.',
    },
    {
      name: 'max-mutating-requests-inflight',
      key: 'limits.mutatingRequestsInFlight',
      value: wholeNumber(0, 1_000_000),
      default: '2000',
      description: 'Writing requests in flight at a time; more get 429. 0: no limit.',
    },
    {
      name: 'max-long-running-requests',
      key: 'limits.longRunningRequests',
      value: wholeNumber(0, 1_000_000),
      default: '20000',
      description: 'Watches, logs, exec and the like that are open at a time; more get 429. 0: no limit.',
    },
    {
      name: 'goaway-chance',
      key: 'limits.goawayChance',
      value: number(0, 0.02),
      default: '0',
      description:
        'Share of the HTTP/2 requests after which the client is told to connect anew, so that clients spread over the servers behind a load balancer. 0.001 is a good start; leave it at 0 where there is no load balancer.',
    },
    {
      name: 'shutdown-delay-duration',
      key: 'shutdown.delay',
      value: duration('0s', '1h'),
      default: '0s',
      description:
        'How long the router serves on after the signal to end, while /readyz fails already, so that load balancers take it out first.',
    },
    {
      name: 'shutdown-watch-termination-grace-period',
      key: 'shutdown.watchTerminationGracePeriod',
      value: duration('0s', '1h'),
      default: '10s',
      description:
        'How long watches, logs and tunnels live on in a shutdown. Watches end one after the other within it, between two events.',
    },
  ],
} as const satisfies FlagGroup;

/** Of which version a cluster looks while its servers have several. */
export const preferredVersionFlagGroup = {
  heading: 'Preferred version flags:',
  flags: [
    {
      name: 'preferred-version',
      key: 'routing.preferredVersion',
      value: preferredVersion,
      default: 'majority',
      description:
        'Which version serves resources that servers of several versions understand differently: the one that most servers have (the newer when equal), the newest, the oldest, a minor version such as 1.36, or that of the local server, whichever it is (local). Give all routers the same.',
    },
    {
      name: 'preferred-version-scope',
      key: 'routing.preferredVersionScope',
      value: choice('differing', 'all'),
      default: 'differing',
      description:
        'Resources that --preferred-version applies to: those that servers understand differently, or all that several versions serve. Feature gates do not show in schemas.',
    },
    {
      name: 'preferred-version-required',
      key: 'routing.preferredVersionRequired',
      value: boolean,
      default: 'false',
      description:
        'Return 503 for writes when only servers older than the preferred version are left, which could lose fields. Otherwise such a server takes the write, and the client gets a warning.',
    },
  ],
} as const satisfies FlagGroup;
