import type { RouterStatus } from '../../own-paths/status/router-status.ts';

/** What becomes now of requests for what the local server does not serve and others do. Ends a sentence. Pure. */
export function reroutingText({
  enabled,
  form,
  stalePolicy,
  snapshot,
}: Pick<RouterStatus, 'enabled' | 'form' | 'stalePolicy' | 'snapshot'>): string {
  if (!enabled) return 'the feature gate is off, so requests for them get the 404 of the local server';
  if (snapshot?.expired !== true) return 'requests for them go to one that does';
  if (stalePolicy === 'serve-stale') {
    return 'the snapshot has expired, and requests for them still go to one that did when it was made';
  }
  return stalePolicy === 'local' && form === 'sidecar'
    ? 'the snapshot has expired, and requests get 503 for those that only peers served'
    : 'the snapshot has expired, and requests for them get 503';
}
