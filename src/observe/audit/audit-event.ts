/** How much of a request is recorded (k8s.io/apiserver pkg/apis/audit/v1). */
export const auditLevels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type AuditLevel = (typeof auditLevels)[number];

/** The moments of a request at which an event is written. */
export const auditStages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type AuditStage = (typeof auditStages)[number];

/** authentication.k8s.io/v1 UserInfo; nothing in it where the router does not know who calls. */
export interface AuditUser {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface AuditObjectReference {
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly apiGroup?: string;
  readonly apiVersion?: string;
  readonly subresource?: string;
}

/** The part of a metav1.Status that an event has. */
export interface AuditResponseStatus {
  readonly metadata: Readonly<Record<string, never>>;
  readonly status?: 'Failure';
  readonly reason?: string;
  readonly message?: string;
  /** Left out where the client was given no response. */
  readonly code?: number;
}

/** One line of an audit log: audit.k8s.io/v1 Event (k8s.io/apiserver pkg/apis/audit/v1/types.go). */
export interface AuditEvent {
  readonly kind: 'Event';
  readonly apiVersion: 'audit.k8s.io/v1';
  /** Bodies are never kept here, so that more than Metadata is never told. */
  readonly level: 'Metadata';
  readonly auditID: string;
  readonly stage: AuditStage;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: AuditUser;
  /** As the request's headers have it: whether the caller may is for the API server to say. */
  readonly impersonatedUser?: AuditUser;
  readonly sourceIPs?: readonly string[];
  readonly userAgent?: string;
  readonly objectRef?: AuditObjectReference;
  readonly responseStatus?: AuditResponseStatus;
  /** RFC 3339 with microseconds, in UTC. */
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Where events go. Must neither throw nor wait: it is called on the request path. */
export interface AuditSink {
  write(event: AuditEvent): void;
}
