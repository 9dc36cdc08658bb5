import type { FlagGroup } from './flag.ts';
import { boolean, choice, preferredVersion } from './flag-types.ts';

/** Of which version a cluster looks while its servers have several. */
export const preferredVersionFlagGroup = {
  heading: 'Preferred version flags:',
  flags: [
    {
      name: 'preferred-version',
      key: 'routing.preferredVersion',
      value: preferredVersion,
      change: 'at-once',
      default: 'majority',
      description:
        'Which version serves resources that servers of several versions understand differently: the one that most servers have (the newer when equal), the newest, the oldest, a minor version such as 1.36, or that of the local server, whichever it is (local). Give all routers the same.',
    },
    {
      name: 'preferred-version-scope',
      key: 'routing.preferredVersionScope',
      value: choice('differing', 'all'),
      change: 'at-once',
      default: 'differing',
      description:
        'For what --preferred-version counts: resources that servers understand differently, or all that several versions serve, since feature gates show in no schema.',
    },
    {
      name: 'preferred-version-required',
      key: 'routing.preferredVersionRequired',
      value: boolean,
      change: 'at-once',
      default: 'false',
      description:
        'Return 503 for writes when only servers of older versions than the preferred one are left, which could lose fields; else they take it, with a warning to the client.',
    },
  ],
} as const satisfies FlagGroup;
