import { firstHeader } from '../apimachinery/raw-headers.ts';
import type { RequestInfo } from '../apimachinery/request-info.ts';
import { auditIdOf } from '../request/audit-id.ts';
import type { Destination } from '../request/destination.ts';
import type { InboundRequest } from '../request/inbound.ts';
import type { AttemptFailure, DropReason, RequestObservation } from '../request/request-observation.ts';
import type { RequestObserver } from '../request/request-observer.ts';
import type { Caller } from '../request/user-info.ts';
import type { Decision } from '../routing/decision.ts';
import type { Logger } from '../runtime/logger.ts';

/** From this `-v` on there is a line for each request, as in kube-apiserver (k8s.io/apiserver pkg/server/httplog). */
export const accessLogVerbosity = 3;

export interface AccessLogOptions {
  /** Must mask credentials: targets are written as they came. */
  readonly logger: Logger;
  /** Milliseconds of a clock that only rises. */
  readonly clock: () => number;
}

/**
 * One line for each request, once it is over, under the names of kube-apiserver's: verb, URI, latency (seconds),
 * userAgent, audit-ID, srcIP, resp; then what only a router knows.
 */
export function accessLog(options: AccessLogOptions): RequestObserver {
  return { begin: (inbound) => new AccessLine(inbound, options) };
}

class AccessLine implements RequestObservation {
  readonly #inbound: InboundRequest;
  readonly #options: AccessLogOptions;
  readonly #begun: number;
  readonly #auditId: string;
  readonly #address: string | undefined;
  readonly #fields: Record<string, unknown> = {};
  #attempts = 0;

  constructor(inbound: InboundRequest, options: AccessLogOptions) {
    this.#inbound = inbound;
    this.#options = options;
    this.#begun = options.clock();
    // Now, so that the destination is told the same one.
    this.#auditId = auditIdOf(inbound);
    // Now: a connection that is gone has none.
    this.#address = inbound.connection.remoteAddress;
  }

  accepted({ verb }: RequestInfo): void {
    this.#fields['verb'] = verb;
  }

  identified(caller: Caller): void {
    if (caller.kind === 'authenticated') this.#fields['user'] = caller.user.name;
  }

  decided({ decision, reason }: Decision): void {
    this.#fields['decision'] = decision;
    this.#fields['reason'] = reason;
  }

  dropped(reason: DropReason): void {
    this.#fields['dropped'] = reason;
  }

  attemptBegun({ id }: Destination): void {
    this.#attempts += 1;
    this.#fields['destination'] = id;
    if (this.#attempts > 1) this.#fields['attempts'] = this.#attempts;
  }

  attemptFailed(failure: AttemptFailure): void {
    this.#fields['failure'] = failure;
  }

  responded(status: number): void {
    this.#fields['resp'] = status;
  }

  finished(): void {
    const { method, target, headers } = this.#inbound;
    const { logger, clock } = this.#options;
    logger.info(
      {
        v: accessLogVerbosity,
        verb: method,
        URI: target,
        latency: (clock() - this.#begun) / 1000,
        userAgent: firstHeader(headers, 'user-agent'),
        'audit-ID': this.#auditId,
        srcIP: this.#address,
        // 0, as there: the client went away before there was a response.
        resp: 0,
        ...this.#fields,
      },
      'HTTP',
    );
  }
}
