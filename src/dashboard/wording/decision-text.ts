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
