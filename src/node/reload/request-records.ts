import { accessLog, accessLogVerbosity } from '../../observe/access-log.ts';
import { requestAudit } from '../../observe/audit/request-audit.ts';
import type { RequestObserver } from '../../request/request-observer.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import { FailureLog, type Logger } from '../../runtime/logger.ts';
import { AuditLog } from '../audit/audit-log.ts';
import { type AuditConfig, type AuditOutput, DescriptorOutput, FileOutput } from '../audit/audit-output.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import { maskText } from '../exchange/mask-secrets.ts';
import type { RouterMetrics } from '../metrics/router-metrics.ts';
import type { Tracing } from '../tracing/create-tracing.ts';
import type { TracingConfig } from '../tracing/tracing-configuration.ts';

/** Records of each request: a log line, a trace, audit events; each only when configured. */
export interface RequestRecords {
  /** Who writes it, as `config` has the verbosity and the policy of the audit; the rest is as it was at start. */
  observers(config: Pick<ServeConfig, 'logging' | 'records'>): readonly RequestObserver[];
  /** Goes on in new files, once the old ones have been renamed. Never rejects. */
  reopen(): Promise<void>;
  /** Writes and sends what waits. Never rejects. */
  close(): Promise<void>;
}

const standardOutput = 1;

/** @throws when the audit log cannot be opened. */
export async function createRequestRecords(
  config: Pick<ServeConfig, 'logging' | 'records' | 'serverId' | 'commandLine'>,
  logger: Logger,
  metrics: RouterMetrics | undefined,
): Promise<RequestRecords> {
  const { tracing, audit } = config.records;
  const failures = new FailureLog({ logger, clock: () => performance.now() });
  const auditLog =
    audit &&
    new AuditLog({
      output: await openOutput(audit, failures),
      bufferSize: audit.bufferSize,
      failures,
      onEvents: (result, events) => metrics?.auditEvents(result, events),
    });
  const traces =
    tracing === undefined ? undefined : await startTracing(tracing, config, logger, failures, metrics);
  return {
    observers({ logging, records: { audit: audited } }) {
      const observers: RequestObserver[] = [];
      if (logging.verbosity >= accessLogVerbosity) {
        observers.push(accessLog({ logger, clock: () => performance.now() }));
      }
      if (audited !== undefined && auditLog !== undefined) {
        const { policy } = audited;
        observers.push(requestAudit({ policy, sink: auditLog, mask: maskText, clock: epochClock }));
      }
      if (traces !== undefined) observers.push(traces.observer);
      return observers;
    },
    async reopen() {
      await auditLog?.reopen();
    },
    async close() {
      await Promise.all([auditLog?.close(), traces?.close()]);
    },
  };
}

/** Milliseconds since the epoch, with fractions. */
function epochClock(): number {
  return performance.timeOrigin + performance.now();
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

/** @throws when the file cannot be opened. */
async function openOutput(audit: AuditConfig, failures: FailureLog): Promise<AuditOutput> {
  if (audit.path === '-') return new DescriptorOutput(standardOutput);
  try {
    return await FileOutput.open({
      ...audit,
      clock: Date.now,
      onError: (error) => failures.warn('audit rotation', { err: error }, 'The audit log cannot be rotated'),
    });
  } catch (cause) {
    const text = errorMessage(cause);
    throw new Error(`--audit-log-path: ${text}`, { cause });
  }
}
