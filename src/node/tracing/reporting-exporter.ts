import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { FailureLog } from '../../runtime/failure-log.ts';

type ExportResult = Parameters<Parameters<SpanExporter['export']>[1]>[0];

/** `ExportResultCode.SUCCESS` of @opentelemetry/core. */
const success = 0;

/** Told how many spans a collector took, or did not. */
export type OnExported = (result: 'exported' | 'failed', spans: number) => void;

/** An exporter whose failures are seen: the SDK would keep them to itself. Spans that cannot be exported are lost. */
export class ReportingExporter implements SpanExporter {
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
