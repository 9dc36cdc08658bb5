import type { RouterStatus } from '../../own-paths/status/router-status.ts';
import type { Decision, DecisionReason } from '../../routing/decision.ts';

/** What reasons mean, for people; a reason's own name is always shown with it. */
export const reasonTexts: Readonly<Record<DecisionReason, string>> = {
  NotAResourceRequest: 'It names no resource.',
  MergedDocument: 'The document is merged from what all servers serve.',
  AlreadyRerouted: 'A peer has sent it on already, and there is never a second hop.',
  NoSnapshot: 'There has been no snapshot yet.',
  SnapshotExpired: 'The snapshot is past its lifetime.',
  ServedLocally: 'The local server serves it.',
  ExtensionAPIServer: 'An extension API server serves it.',
  ExtensionAPIServerUnavailable: 'It belongs to an extension API server that is not available.',
  ExtensionAPIServerAddressUnknown:
    'An extension API server serves it whose address is not known: the aggregator reaches it.',
  CustomResource: 'It is a custom resource, which every server serves.',
  ServedByPeer: 'Peers serve it, and the local server does not.',
  PreferredVersion:
    'Servers of several versions serve it and differ: the preferred version serves it, the same for every client.',
  PeerAddressUnknown: 'Peers serve it, but none of them has a usable address.',
  ServerDeparted: 'The API server that serves it has left, and may come back.',
  NotServedByAnyServer: 'No server serves it.',
  LocalServerDown: 'No local server can serve it, and others can.',
  FeatureGateDisabled: 'The feature gate is off.',
};

/** Where a request goes, as the start of a line. */
export const decisionTexts: Readonly<Record<Decision['decision'] | 'refused', string>> = {
  local: 'Local server',
  peer: 'Peer',
  extension: 'Extension API server',
  unavailable: 'The response is 503',
  refused: 'Refused',
};

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
