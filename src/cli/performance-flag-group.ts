import type { FlagGroup } from './serve-flags.ts';

/** What costs or saves CPU (docs/decisions/0010). */
export const performanceFlagGroup = {
  heading: 'Performance flags:',
  flags: [
    {
      name: 'http1-read-connections',
      kind: 'value',
      placeholder: 'count',
      default: '64',
      description:
        'HTTP/1.1 connections that short reads may have to each server that is busy with them. 0: every request takes HTTP/2 where the server speaks it.',
    },
  ],
} as const satisfies FlagGroup;
