import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { FailureLog } from '../../runtime/failure-log.ts';

type ExportResult = Parameters<Parameters<SpanExporter['export']>[1]>[0];

/** `ExportResultCode.SUCCESS` of @opentelemetry/core. */
const success = 0;

/** Called with the number of spans that were exported or lost. */
export type OnExported = (result: 'exported' | 'failed', spans: number) => void;

/** Logs and counts failed exports, which the SDK does not report. Spans that cannot be exported are lost. */
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
