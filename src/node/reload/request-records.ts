import { accessLog, accessLogVerbosity } from '../../observe/access-log.ts';
import type { RequestObserver } from '../../request/request-observer.ts';
import { FailureLog, type Logger } from '../../runtime/logger.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import type { RouterMetrics } from '../metrics/router-metrics.ts';
import type { Tracing } from '../tracing/create-tracing.ts';
import type { TracingConfig } from '../tracing/tracing-configuration.ts';

/** Records of each request: a log line, a trace; each only when configured. */
export interface RequestRecords {
  /** Who writes it, as `config` has the verbosity; the rest is as it was at start. */
  observers(config: Pick<ServeConfig, 'logging'>): readonly RequestObserver[];
  /** Writes and sends what waits. Never rejects. */
  close(): Promise<void>;
}

export async function createRequestRecords(
  config: Pick<ServeConfig, 'logging' | 'records' | 'serverId' | 'commandLine'>,
  logger: Logger,
  metrics: RouterMetrics | undefined,
): Promise<RequestRecords> {
  const { tracing } = config.records;
  const failures = new FailureLog({ logger, clock: () => performance.now() });
  const traces =
    tracing === undefined ? undefined : await startTracing(tracing, config, logger, failures, metrics);
  return {
    observers({ logging }) {
      const observers: RequestObserver[] = [];
      if (logging.verbosity >= accessLogVerbosity) {
        observers.push(accessLog({ logger, clock: () => performance.now() }));
      }
      if (traces !== undefined) observers.push(traces.observer);
      return observers;
    },
    async close() {
      await traces?.close();
    },
  };
}

async function startTracing(
  tracing: TracingConfig,
  { serverId, commandLine }: Pick<ServeConfig, 'serverId' | 'commandLine'>,
  logger: Logger,
  failures: FailureLog,
  metrics: RouterMetrics | undefined,
): Promise<Tracing> {
  // Only now: OpenTelemetry's modules take a while to load, and memory, that most routers need not spend.
  const { createTracing } = await import('../tracing/create-tracing.ts');
  return createTracing(tracing, {
    instance: serverId,
    version: commandLine.version,
    failures,
    logger,
    onExported: (result, spans) => metrics?.spansExported(result, spans),
  });
}
