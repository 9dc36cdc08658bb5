import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { RequestObserver } from '../../request/request-observer.ts';
import type { FailureLog } from '../../runtime/failure-log.ts';
import type { Logger } from '../../runtime/logger.ts';
import { checkServerIdentity } from '../destinations/server-identity.ts';
import { type OnExported, ReportingExporter } from './reporting-exporter.ts';
import { RequestTrace } from './request-trace.ts';
import type { TracingConfig } from './tracing-configuration.ts';

/** Buffered spans at most; more are dropped. About a kilobyte each. */
const maxQueueSize = 2048;

/** Time to export the last spans when the router ends. */
const shutdownMilliseconds = 5_000;

export interface TracingOptions {
  /** Identifies this router: the ID of its server, or nothing. */
  readonly instance: string | undefined;
  readonly version: string;
  readonly failures: FailureLog;
  readonly logger: Logger;
  readonly onExported: OnExported;
}

export interface Tracing {
  readonly observer: RequestObserver;
  /** Exports buffered spans, for a few seconds at most. Never rejects. */
  close(): Promise<void>;
}

/**
 * Traces requests. Spans are buffered and exported in the background: a collector that is slow or down costs spans, never
 * requests.
 */
export function createTracing(
  { url, samplingRatePerMillion }: TracingConfig,
  options: TracingOptions,
): Tracing {
  const { instance, version, failures, logger, onExported } = options;
  const exporter = new ReportingExporter(
    new OTLPTraceExporter({ url, httpAgentOptions: { checkServerIdentity } }),
    failures,
    onExported,
  );
  const root =
    samplingRatePerMillion === 0
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(samplingRatePerMillion / 1_000_000);
  const provider = new BasicTracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.name': 'mixed-version-proxy',
        'service.version': version,
        ...(instance === undefined ? {} : { 'service.instance.id': instance }),
      }),
    ),
    sampler: new ParentBasedSampler({ root }),
    spanProcessors: [new BatchSpanProcessor(exporter, { maxQueueSize })],
  });
  const tracer = provider.getTracer('mixed-version-proxy', version);
  const clock = (): number => performance.timeOrigin + performance.now();
  return {
    observer: { begin: (inbound) => new RequestTrace(inbound, { tracer, clock }) },
    close: () => endWithin(provider.shutdown(), logger),
  };
}

async function endWithin(ending: Promise<void>, logger: Logger): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, shutdownMilliseconds);
  try {
    await Promise.race([ending, late]);
  } catch (error) {
    logger.warn({ err: error }, 'The last spans could not be exported');
  } finally {
    clearTimeout(timer);
  }
}
