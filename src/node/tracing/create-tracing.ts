import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { RequestObserver } from '../../request/request-observer.ts';
import type { FailureLog, Logger } from '../../runtime/logger.ts';
import { checkServerIdentity } from '../destinations/server-identity.ts';
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

type ExportResult = Parameters<Parameters<SpanExporter['export']>[1]>[0];

/** `ExportResultCode.SUCCESS` of @opentelemetry/core. */
const success = 0;

/** Called with the number of spans that were exported or lost. */
type OnExported = (result: 'exported' | 'failed', spans: number) => void;

/** Logs and counts failed exports, which the SDK does not report. Spans that cannot be exported are lost. */
class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #failures: FailureLog;
  readonly #onExported: OnExported;

  constructor(exporter: SpanExporter, failures: FailureLog, onExported: OnExported) {
    this.#exporter = exporter;
    this.#failures = failures;
    this.#onExported = onExported;
  }

  export(spans: ReadableSpan[], report: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      const isExported = result.code === success;
      this.#onExported(isExported ? 'exported' : 'failed', spans.length);
      if (!isExported) {
        const fields = { spans: spans.length, err: result.error };
        this.#failures.warn('trace export', fields, 'Spans could not be exported');
      }
      report(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  forceFlush(): Promise<void> {
    return this.#exporter.forceFlush?.() ?? Promise.resolve();
  }
}
