import type { FlagGroup } from './serve-flags.ts';

/** In front of one API server, or in front of all. */
export const deploymentFormFlagGroup = {
  heading: 'Deployment form flags:',
  flags: [
    {
      name: 'gateway',
      kind: 'boolean',
      placeholder: 'true|false',
      default: 'false',
      description:
        'Stand in front of all API servers of the snapshot, none of them closer than another, in place of one: without --server-id and --local-server.',
    },
    {
      name: 'local-server-down-policy',
      kind: 'value',
      placeholder: 'peer|unavailable',
      default: 'peer',
      description:
        'While the local API server is down, send requests that peers can answer to a peer, or answer 503.',
    },
  ],
} as const satisfies FlagGroup;
