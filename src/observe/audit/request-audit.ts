import { isLongRunning } from '../../apimachinery/long-running.ts';
import type { RequestInfo } from '../../apimachinery/request-info.ts';
import { auditIdOf } from '../../request/audit-id.ts';
import type { Destination } from '../../request/destination.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { DropReason, RequestObservation } from '../../request/request-observation.ts';
import type { RequestObserver } from '../../request/request-observer.ts';
import type { Caller, UserInfo } from '../../request/user-info.ts';
import type { Decision } from '../../routing/decision.ts';
import type { AuditEvent, AuditResponseStatus, AuditSink, AuditStage } from './audit-event.ts';
import { type AuditDecision, judgeAudit } from './audit-policy.ts';
import type { AuditPolicy } from './parse-audit-policy.ts';
import {
  auditedUser,
  auditedUserAgent,
  impersonatedUser,
  microTime,
  objectReference,
  sourceAddresses,
} from './request-facts.ts';

/** Before the names of the router's own annotations. */
const annotationPrefix = 'mixed-version-proxy/';

export interface RequestAuditOptions {
  readonly policy: AuditPolicy;
  readonly sink: AuditSink;
  /** Takes credentials out of text. */
  readonly mask: (text: string) => string;
  /** Milliseconds since the epoch, with fractions. */
  readonly clock: () => number;
}

/**
 * Writes audit events, at the stages at which kube-apiserver does (k8s.io/apiserver pkg/endpoints/filters/audit.go):
 * RequestReceived once the caller is known, ResponseStarted for long-running requests, ResponseComplete at the end;
 * Panic in its place after an error of the router; one ResponseStarted alone for credentials that are refused
 * (authn_audit.go). A request whose target is refused names nothing that a policy could judge, and has no event.
 */
export function requestAudit(options: RequestAuditOptions): RequestObserver {
  return { begin: (inbound) => new AuditTrail(inbound, options) };
}

class AuditTrail implements RequestObservation {
  readonly #inbound: InboundRequest;
  readonly #options: RequestAuditOptions;
  readonly #received: number;
  readonly #annotations: Record<string, string> = {};
  #attempts = 0;
  #requestInfo: RequestInfo | undefined;
  #audit: AuditDecision | undefined;
  /** What all events of the request have in common; `undefined` until it is known that there are any. */
  #common: Omit<AuditEvent, 'stage' | 'stageTimestamp'> | undefined;
  #responseStatus: AuditResponseStatus | undefined;
  #isOver = false;

  constructor(inbound: InboundRequest, options: RequestAuditOptions) {
    this.#inbound = inbound;
    this.#options = options;
    this.#received = options.clock();
    // Now, so that the destination is told the same one.
    auditIdOf(inbound);
  }

  accepted(requestInfo: RequestInfo): void {
    this.#requestInfo = requestInfo;
  }

  identified(caller: Caller): void {
    this.#judge(caller.kind === 'authenticated' ? caller.user : undefined);
    this.#write('RequestReceived');
    // From the next stage on: at RequestReceived nothing has been read yet.
    if (caller.kind === 'passthrough') this.#annotate('caller', 'passthrough');
  }

  decided({ decision, reason }: Decision): void {
    this.#annotate('decision', decision);
    this.#annotate('reason', reason);
  }

  dropped(reason: DropReason): void {
    this.#annotate('dropped', reason);
  }

  attemptBegun({ kind, id }: Destination): void {
    this.#attempts += 1;
    this.#annotate('destination', id);
    this.#annotate('destination-kind', kind);
    if (this.#attempts > 1) this.#annotate('attempts', String(this.#attempts));
  }

  panicked(): void {
    this.#receiveUnidentified();
    const message = 'the router failed';
    this.#responseStatus = { metadata: {}, status: 'Failure', reason: 'InternalError', message, code: 500 };
    this.#write('Panic');
    this.#isOver = true;
  }

  responded(status: number): void {
    if (this.#isOver || this.#requestInfo === undefined) return;
    if (this.#audit === undefined && status === 401) {
      this.#refused();
      return;
    }
    this.#receiveUnidentified();
    this.#responseStatus = { metadata: {}, code: status };
    if (isLongRunning(this.#requestInfo)) this.#write('ResponseStarted');
  }

  finished(): void {
    if (this.#isOver) return;
    this.#receiveUnidentified();
    this.#responseStatus ??= { metadata: {}, status: 'Failure', message: 'Connection closed early' };
    this.#write('ResponseComplete');
    this.#isOver = true;
  }

  /** Wrong credentials: the event names no user. */
  #refused(): void {
    this.#judge(undefined);
    const message = 'Authentication failed';
    this.#responseStatus = { metadata: {}, status: 'Failure', reason: 'Unauthorized', message, code: 401 };
    this.#write('ResponseStarted');
    this.#isOver = true;
  }

  /** For responses without a known caller: health, an issuer's documents, a lost connection. */
  #receiveUnidentified(): void {
    if (this.#audit !== undefined) return;
    this.#judge(undefined);
    this.#write('RequestReceived');
  }

  #judge(user: UserInfo | undefined): void {
    const requestInfo = this.#requestInfo;
    if (requestInfo === undefined) return;
    this.#audit = judgeAudit(this.#options.policy, requestInfo, user);
    if (this.#audit.level === 'None') return;
    const { headers, target } = this.#inbound;
    const impersonated = impersonatedUser(headers);
    const addresses = sourceAddresses(this.#inbound);
    const userAgent = auditedUserAgent(headers);
    const reference = objectReference(requestInfo);
    this.#common = {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: auditIdOf(this.#inbound),
      requestURI: this.#options.mask(target),
      verb: requestInfo.verb,
      user: auditedUser(user),
      ...(impersonated === undefined ? {} : { impersonatedUser: impersonated }),
      ...(addresses.length === 0 ? {} : { sourceIPs: addresses }),
      ...(userAgent === undefined ? {} : { userAgent: this.#options.mask(userAgent) }),
      ...(reference === undefined ? {} : { objectRef: reference }),
      requestReceivedTimestamp: microTime(this.#received),
    };
  }

  #annotate(name: string, value: string): void {
    this.#annotations[annotationPrefix + name] = value;
  }

  #write(stage: AuditStage): void {
    if (this.#common === undefined || this.#audit?.omits(stage) === true) return;
    const { sink, clock } = this.#options;
    const hasAnnotations = Object.keys(this.#annotations).length > 0;
    sink.write({
      ...this.#common,
      stage,
      stageTimestamp: microTime(clock()),
      ...(this.#responseStatus === undefined ? {} : { responseStatus: this.#responseStatus }),
      // A copy: the next stage may have more.
      ...(hasAnnotations ? { annotations: { ...this.#annotations } } : {}),
    });
  }
}
