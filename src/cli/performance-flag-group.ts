import type { FlagGroup } from './serve-flags.ts';

/** What costs or saves CPU (docs/decisions/0010). */
export const performanceFlagGroup = {
  heading: 'Performance flags:',
  flags: [
    {
      name: 'direct-lane',
      kind: 'boolean',
      placeholder: 'true|false',
      default: 'true',
      description:
        'Take requests for resources past the fetch handler, by the same router. Off, every request goes through the handler chain.',
    },
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
