import {
  type Attributes,
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { firstHeader, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { RequestInfo } from '../../apimachinery/request-info.ts';
import {
  isTraceContextTrusted,
  readTraceContext,
  routeTemplate,
  spanName,
  type TraceContext,
  traceContextLines,
} from '../../observe/tracing/trace-context.ts';
import { auditIdOf } from '../../request/audit-id.ts';
import type { Destination } from '../../request/destination.ts';
import { type InboundRequest, queryOf } from '../../request/inbound.ts';
import type { AttemptFailure, DropReason, RequestObservation } from '../../request/request-observation.ts';
import type { Caller } from '../../request/user-info.ts';
import type { Decision } from '../../routing/decision.ts';
import { maskText } from '../exchange/mask-secrets.ts';

export interface RequestTraceOptions {
  readonly tracer: Tracer;
  /** Milliseconds since the epoch, with fractions. */
  readonly clock: () => number;
}

/**
 * The spans of one request: a server span, and within it one for the decision and a client span for each try, which ends
 * with the head of its response. The server span is made when the caller is known, because only the trace context of
 * trusted callers counts; it begins at the time of the request.
 */
export class RequestTrace implements RequestObservation {
  readonly #inbound: InboundRequest;
  readonly #options: RequestTraceOptions;
  readonly #begun: number;
  #requestInfo: RequestInfo | undefined;
  #identified = 0;
  #server: Span | undefined;
  #context: Context = ROOT_CONTEXT;
  #attempt: Span | undefined;
  #attempts = 0;
  #hasResponse = false;

  constructor(inbound: InboundRequest, options: RequestTraceOptions) {
    this.#inbound = inbound;
    this.#options = options;
    this.#begun = options.clock();
    // Made now, so that the span and the destination have the same audit ID.
    auditIdOf(inbound);
  }

  accepted(requestInfo: RequestInfo): void {
    this.#requestInfo = requestInfo;
  }

  identified(caller: Caller): void {
    this.#identified = this.#options.clock();
    this.#begin(isTraceContextTrusted(this.#inbound, caller));
  }

  decided({ decision, reason, candidates }: Decision): void {
    if (this.#server?.isRecording() !== true) return;
    const attributes = {
      'mixed_version_proxy.decision': decision,
      'mixed_version_proxy.reason': reason,
      'mixed_version_proxy.candidates': candidates.length,
    };
    this.#server.setAttributes(attributes);
    const options = { startTime: this.#identified, attributes };
    this.#options.tracer.startSpan('decide', options, this.#context).end(this.#options.clock());
  }

  dropped(reason: DropReason): void {
    this.#server?.addEvent('dropped', { reason });
  }

  attemptBegun({ kind, id }: Destination): void {
    this.#attempts += 1;
    if (this.#server?.isRecording() !== true) return;
    const resent = this.#attempts === 1 ? {} : { 'http.request.resend_count': this.#attempts - 1 };
    const attributes = {
      'http.request.method': this.#inbound.method,
      'mixed_version_proxy.destination.kind': kind,
      'mixed_version_proxy.destination.id': id,
      ...resent,
    };
    const options = { kind: SpanKind.CLIENT, startTime: this.#options.clock(), attributes };
    this.#attempt = this.#options.tracer.startSpan(`try ${kind}`, options, this.#context);
  }

  /** Also for a request that is not traced: otherwise the destination would begin a trace of its own. */
  outboundHeaders(): RawHeaders {
    const span = this.#attempt ?? this.#server;
    return span === undefined ? [] : linesOf(span.spanContext());
  }

  attemptResponded(status: number): void {
    this.#endAttempt({ 'http.response.status_code': status }, status >= 400);
  }

  attemptFailed(failure: AttemptFailure): void {
    this.#endAttempt({ 'error.type': failure }, true);
  }

  panicked(error: unknown): void {
    this.#begin(false).setAttribute('error.type', error instanceof Error ? error.name : 'unknown');
  }

  responded(status: number): void {
    this.#hasResponse = true;
    const server = this.#begin(false);
    server.setAttribute('http.response.status_code', status);
    // A 4xx is no error of a server span (OpenTelemetry semantic conventions for HTTP spans).
    if (status >= 500) server.setStatus({ code: SpanStatusCode.ERROR });
  }

  finished(): void {
    if (!this.#hasResponse) this.#begin(false).setAttribute('error.type', 'ClientGone');
    this.#endAttempt({ 'error.type': 'ClientGone' }, true);
    this.#server?.end(this.#options.clock());
  }

  /** The server span. @param isTrusted whether the trace context of the request counts */
  #begin(isTrusted: boolean): Span {
    if (this.#server !== undefined) return this.#server;
    const remote = readTraceContext(this.#inbound.headers);
    const options: SpanOptions = { kind: SpanKind.SERVER, startTime: this.#begun };
    let parent = ROOT_CONTEXT;
    if (remote !== undefined) {
      const context = remoteSpanContext(remote);
      if (isTrusted) parent = trace.setSpanContext(ROOT_CONTEXT, context);
      // Not continued, but linked, so that this trace can be found from that one.
      else options.links = [{ context }];
    }
    const name = spanName(this.#inbound.method, this.#requestInfo);
    const server = this.#options.tracer.startSpan(name, options, parent);
    this.#server = server;
    this.#context = trace.setSpan(parent, server);
    // Most requests are not sampled, and need no attributes.
    if (server.isRecording()) server.setAttributes(this.#attributes());
    return server;
  }

  #attributes(): Attributes {
    const { method, target, headers, httpVersion, connection } = this.#inbound;
    const query = queryOf(target);
    const attributes: Attributes = {
      'audit-id': auditIdOf(this.#inbound),
      'http.request.method': method,
      'url.scheme': 'https',
      'url.path': maskText(query === '' ? target : target.slice(0, target.indexOf('?'))),
    };
    if (query !== '') attributes['url.query'] = maskText(`?${query}`).slice(1);
    const route = this.#requestInfo && routeTemplate(this.#requestInfo);
    if (route !== undefined) attributes['http.route'] = route;
    if (this.#requestInfo !== undefined) attributes['k8s.verb'] = this.#requestInfo.verb;
    const userAgent = firstHeader(headers, 'user-agent');
    if (userAgent !== undefined) attributes['user_agent.original'] = userAgent;
    if (httpVersion !== undefined) attributes['network.protocol.version'] = httpVersion;
    const { remoteAddress } = connection;
    if (remoteAddress !== undefined) attributes['client.address'] = remoteAddress;
    return attributes;
  }

  #endAttempt(attributes: Attributes, isError: boolean): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    this.#attempt = undefined;
    attempt.setAttributes(attributes);
    if (isError) attempt.setStatus({ code: SpanStatusCode.ERROR });
    attempt.end(this.#options.clock());
  }
}

function remoteSpanContext({ traceId, spanId, traceFlags, traceState }: TraceContext): SpanContext {
  const context = { traceId, spanId, traceFlags, isRemote: true };
  return traceState === '' ? context : { ...context, traceState: createTraceState(traceState) };
}

/** The header lines with which a destination continues the trace of a span. */
function linesOf({ traceId, spanId, traceFlags, traceState }: SpanContext): string[] {
  return traceContextLines({ traceId, spanId, traceFlags, traceState: traceState?.serialize() ?? '' });
}
