import type { FlagGroup } from './serve-flags.ts';

/** What costs or saves CPU and memory. The defaults are the cheapest; the others are for finding out. */
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
        'HTTP/1.1 connections that short reads may have to each server that is busy with them; they cost less CPU than HTTP/2 streams. 0: every request takes HTTP/2 where the server speaks it.',
    },
  ],
} as const satisfies FlagGroup;
