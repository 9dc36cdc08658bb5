import type { FlagGroup } from './serve-flags.ts';

/** What the router tells about itself, and where. */
export const observabilityFlagGroup = {
  heading: 'Observability flags:',
  flags: [
    {
      name: 'enable-metrics',
      kind: 'boolean',
      placeholder: 'true|false',
      default: 'true',
      description:
        'Count requests and serve metrics and metrics/slis under /.mixed-version-proxy/, and at the admin address.',
    },
  ],
} as const satisfies FlagGroup;
