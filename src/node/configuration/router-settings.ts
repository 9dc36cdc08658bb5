import { boolean, choice, preferredVersion, section, setting } from './setting-types.ts';

/** Of which version a cluster looks while its servers have several. */
export const preferredVersionSettings = section('Preferred version flags:', {
  preferredVersion: setting('preferred-version', preferredVersion, {
    default: 'majority',
    description:
      'Which version serves resources that servers of several versions understand differently: the one that most servers have (the newer when equal), the newest, the oldest, a minor version such as 1.36, or that of the local server, whichever it is (local). Give all routers the same.',
  }),
  preferredVersionScope: setting('preferred-version-scope', choice('differing', 'all'), {
    default: 'differing',
    description:
      'Resources that --preferred-version applies to: those that servers understand differently, or all that several versions serve. Feature gates do not show in schemas.',
  }),
  preferredVersionRequired: setting('preferred-version-required', boolean, {
    default: false,
    description:
      'Return 503 for writes when only servers older than the preferred version are left, which could lose fields. Otherwise such a server takes the write, and the client gets a warning.',
  }),
});
