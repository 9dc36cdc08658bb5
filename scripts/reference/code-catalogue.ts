/** A union of codes, and where a reader meets it. */
export interface CodeUnion {
  readonly heading: string;
  /** The source that declares it, from the root of the repository. */
  readonly source: string;
  readonly name: string;
  /** Where its codes are seen and what follows from them. */
  readonly introduction: string;
  /** For codes whose comment in the source says nothing. */
  readonly descriptions?: Readonly<Record<string, string>>;
}

/** Every union of codes that somebody outside the code can meet, in the order of docs/reference/errors.md. */
export const codeUnions: readonly CodeUnion[] = [
  {
    heading: 'Decisions',
    source: 'src/routing/decision.ts',
    name: 'DecisionReason',
    introduction:
      'Why a request goes where it goes. Shown by `mixed-version-proxy explain`, `v1/explain`, the status page, and the line of a request in the log (`-v=3`).',
    descriptions: {
      NotAResourceRequest: 'The path names no resource: local.',
      MergedDocument:
        'A discovery document or the OpenAPI v3 index, merged from all servers; or an OpenAPI document, of a server that has it.',
      AlreadyRerouted: 'A verified peer has rerouted it: local.',
      NoSnapshot:
        'There has been no snapshot yet: local, whose 404 for a resource becomes 503; a gateway returns 503.',
      ServedLocally: 'The local server serves it.',
      ExtensionAPIServer: 'An aggregated API: local, whose aggregator does it.',
      CustomResource: 'Served through a CustomResourceDefinition: local.',
      ServedByPeer: 'The local server does not serve it, the candidates do.',
      PreferredVersion:
        'Servers of several versions serve it and understand it differently: one of the preferred version answers (`--preferred-version`).',
      PeerAddressUnknown: 'Peers serve it and none has a usable address: 503.',
      ServerDeparted:
        'Only departed servers serve it, and they may come back (`--departed-server-grace`): 503.',
      ServerNotKnown:
        'Nobody else is known to serve it, and what a server serves is not known: it was lost, or another process runs it, and it has not been read since: 503.',
      NotServedByAnyServer: 'No server serves it: local, a 404.',
      LocalServerDown: 'The local server is down: a peer takes its place where one can.',
      FeatureGateDisabled: 'UnknownVersionInteroperabilityProxy is off: everything goes to the local server.',
    },
  },
  {
    heading: 'Request targets',
    source: 'src/apimachinery/request-info-error.ts',
    name: 'RequestInfoErrorCode',
    introduction: 'Thrown by `parseRequestInfo` as `RequestInfoError`.',
  },
  {
    heading: 'Destinations without a response',
    source: 'src/request/destination.ts',
    name: 'TransportErrorCode',
    introduction:
      'In the log line of a failed attempt, and in `TransportError`. The client gets a second try elsewhere where that is safe, else 503 (502 for `InvalidResponse`).',
  },
  {
    heading: 'Requests that could not be sent',
    source: 'src/request/destination.ts',
    name: 'NotSentCode',
    introduction:
      'In `NotSentError`: the client gets its message, and nothing counts against the destination.',
  },
  {
    heading: 'Attempts',
    source: 'src/request/inbound.ts',
    name: 'AttemptFailure',
    introduction: 'For request observers, in addition to the codes above.',
  },
  {
    heading: 'Refused requests',
    source: 'src/request/inbound.ts',
    name: 'DropReason',
    introduction: 'By the router itself: see [limits](limits.md) and [shutting down](../guides/shutdown.md).',
  },
  {
    heading: 'Snapshots',
    source: 'src/snapshot/format/snapshot-error.ts',
    name: 'SnapshotErrorCode',
    introduction:
      'Why a pushed snapshot was refused: 401 for `Unsigned`, `UnknownKey` and `BadSignature`, 413 for `TooLarge`, 422 with every error for `Invalid`, 409 for `NotNewer`, 405 for `ReadsClusterItself`. The router keeps its snapshot. One that was not read whole has no code of its own: 400 when its sender broke it off, 413 when it is too long, 429 when others are being read, 504 when it did not arrive in time.',
    descriptions: { TooLarge: 'Larger than any snapshot may be.' },
  },
  {
    heading: 'Peer assertions',
    source: 'src/identity/assertion/verify-assertion.ts',
    name: 'PeerAssertionErrorCode',
    introduction: 'A refused [assertion](../guides/edge.md#assertions) ends its request with 401.',
    descriptions: {
      Expired: 'Past its `exp`: older than it may be, or the clocks differ.',
      NotYetValid: 'Its `iat` or `nbf` lies ahead: the clocks differ.',
      Replayed: 'Its nonce has been used.',
    },
  },
  {
    heading: 'Serving',
    source: 'src/node/serving/server-error.ts',
    name: 'ServerErrorCode',
    introduction: 'The router cannot start, exit code 1.',
    descriptions: { ListenFailed: 'Listening failed in another way, which the message names.' },
  },
  {
    heading: 'Certificates',
    source: 'src/node/callers/pem-files.ts',
    name: 'CertificatePemErrorCode',
    introduction: 'At start, exit code 2; on a reload, in the log, and the old files stay in use.',
    descriptions: { NoCertificate: 'The file holds no PEM certificate.' },
  },
  {
    heading: 'Reading API servers',
    source: 'src/sync/documents/server-documents.ts',
    name: 'ReadErrorCode',
    introduction: 'Of who reads the cluster: the server keeps what it last served, marked stale.',
  },
];
