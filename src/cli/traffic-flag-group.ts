import type { FlagGroup } from './serve-flags.ts';

/** How long requests may take, how many there may be, and how the router ends. */
export const trafficFlagGroup = {
  heading: 'Time-out, overload and shutdown flags:',
  flags: [
    {
      name: 'request-timeout',
      kind: 'value',
      placeholder: 'duration',
      default: '60s',
      description:
        'How long a request may take as a whole: 503 with Retry-After (reads) or 504 (writes) while there is no answer, broken off afterwards. Watches, logs, exec and the like have no such limit.',
    },
    {
      name: 'dial-timeout',
      kind: 'value',
      placeholder: 'duration',
      default: '5s',
      description: 'How long the TCP connection to a server may take, its name looked up.',
    },
    {
      name: 'tls-handshake-timeout',
      kind: 'value',
      placeholder: 'duration',
      default: '10s',
      description: 'How long the TLS handshake may take, with servers and with clients.',
    },
    {
      name: 'response-header-timeout',
      kind: 'value',
      placeholder: 'duration',
      default: '45s',
      description:
        'How long a server may take until the answer to a read begins when another one could be asked for it, which then is; at most three quarters of --request-timeout where it is not given. Writes and long-running requests have no such limit. 0s: only --request-timeout counts.',
    },
    {
      name: 'max-requests-inflight',
      kind: 'value',
      placeholder: 'number',
      default: '4000',
      description: 'Reading requests in flight at a time; more are answered with 429. 0: no limit.',
    },
    {
      name: 'max-mutating-requests-inflight',
      kind: 'value',
      placeholder: 'number',
      default: '2000',
      description: 'Writing requests in flight at a time; more are answered with 429. 0: no limit.',
    },
    {
      name: 'max-long-running-requests',
      kind: 'value',
      placeholder: 'number',
      default: '20000',
      description:
        'Watches, logs, exec and the like that are open at a time; more are answered with 429. 0: no limit.',
    },
    {
      name: 'max-connections',
      kind: 'value',
      placeholder: 'number',
      description:
        'Client connections that are open at a time; more are closed as they come. Default: half of the files that the process may open.',
    },
    {
      name: 'http2-max-streams-per-connection',
      kind: 'value',
      placeholder: 'number',
      default: '100',
      description: 'Streams that a client may have open at a time on one HTTP/2 connection.',
    },
    {
      name: 'goaway-chance',
      kind: 'value',
      placeholder: '0..0.02',
      default: '0',
      description:
        'Share of the HTTP/2 requests behind which the client is told to connect anew, so that clients spread over the servers behind a load balancer. 0.001 is a good start; leave it at 0 where there is no load balancer.',
    },
    {
      name: 'shutdown-delay-duration',
      kind: 'value',
      placeholder: 'duration',
      default: '0s',
      description:
        'How long the router serves on after the signal to end, while /readyz fails already, so that load balancers take it out first.',
    },
    {
      name: 'shutdown-send-retry-after',
      kind: 'boolean',
      placeholder: 'true|false',
      default: 'false',
      description:
        'Listen on until all requests have ended, and answer new ones with 429, Retry-After and Connection: close.',
    },
    {
      name: 'shutdown-watch-termination-grace-period',
      kind: 'value',
      placeholder: 'duration',
      default: '10s',
      description:
        'How long watches, logs and tunnels live on in a shutdown. Watches end one after the other within it, between two events.',
    },
  ],
} as const satisfies FlagGroup;
