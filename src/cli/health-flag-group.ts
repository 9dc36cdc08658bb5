import type { FlagGroup } from './serve-flags.ts';

/** How the health of the API servers is found out, and what it changes. */
export const healthFlagGroup = {
  heading: 'Server health flags:',
  flags: [
    {
      name: 'health-check-interval',
      kind: 'value',
      placeholder: 'duration',
      default: '5s',
      description:
        'How often each API server is asked for /readyz; five times as often while it is unhealthy or in doubt. 0s: never, so that only requests tell.',
    },
    {
      name: 'health-check-timeout',
      kind: 'value',
      placeholder: 'duration',
      default: '5s',
      description: 'How long the answer to a health check may take.',
    },
    {
      name: 'health-check-rise',
      kind: 'value',
      placeholder: 'number',
      default: '2',
      description: 'Health checks in a row that must succeed before an unhealthy server is healthy.',
    },
    {
      name: 'health-check-fall',
      kind: 'value',
      placeholder: 'number',
      default: '3',
      description: 'Health checks in a row that must fail, or connections, before a server is unhealthy.',
    },
    {
      name: 'slow-start-duration',
      kind: 'value',
      placeholder: 'duration',
      default: '30s',
      description: 'How long a recovered server takes to come back to its whole share of requests.',
    },
  ],
} as const satisfies FlagGroup;
