import { createTraceState, type SpanContext } from '@opentelemetry/api';
import { type TraceContext, traceContextLines } from '../../observe/tracing/trace-context.ts';

/** A trace context from outside in OpenTelemetry's form. */
export function remoteSpanContext({ traceId, spanId, traceFlags, traceState }: TraceContext): SpanContext {
  const context = { traceId, spanId, traceFlags, isRemote: true };
  return traceState === '' ? context : { ...context, traceState: createTraceState(traceState) };
}

/** The header lines by which a destination goes on with a span's trace. */
export function linesOf({ traceId, spanId, traceFlags, traceState }: SpanContext): string[] {
  return traceContextLines({ traceId, spanId, traceFlags, traceState: traceState?.serialize() ?? '' });
}
