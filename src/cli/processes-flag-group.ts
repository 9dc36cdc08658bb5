import type { FlagGroup } from './serve-flags.ts';

/** How many processes the router is made of (docs/processes.md). */
export const processesFlagGroup = {
  heading: 'Multi-process flags:',
  flags: [
    {
      name: 'processes',
      kind: 'value',
      placeholder: 'number',
      default: '1',
      description:
        'Processes that serve on the port together, beside one that looks after them; limits are for all of them together. 0, or auto: as many as there are processors.',
    },
  ],
} as const satisfies FlagGroup;
