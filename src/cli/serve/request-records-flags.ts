import type { AuditConfig } from '../../node/audit/audit-config.ts';
import { days } from '../../node/audit/rotated-files.ts';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { parseTracingConfiguration } from '../../node/tracing/tracing-configuration.ts';
import { parseAuditPolicy } from '../../observe/audit/parse-audit-policy.ts';
import { type FlagSources, readDocumentFlag } from './yaml-file.ts';

const bytesOfMegabyte = 1024 * 1024;

/** Reads what is kept of each request. After a fault, which is reported, something is missing. */
export function readRequestRecordsFlags(sources: FlagSources): ServeConfig['records'] {
  return {
    tracing: readDocumentFlag('tracing-config-file', sources, parseTracingConfiguration),
    audit: readAuditFlags(sources),
  };
}

function readAuditFlags(sources: FlagSources): AuditConfig | undefined {
  const { values, report } = sources;
  const policy = readDocumentFlag('audit-policy-file', sources, parseAuditPolicy);
  const path = values.text('audit-log-path');
  const limits = values.values({
    megabytes: 'audit-log-maxsize',
    maximumDays: 'audit-log-maxage',
    maximumBackups: 'audit-log-maxbackup',
    bufferSize: 'audit-log-batch-buffer-size',
  });
  const isPolicyGiven = values.isGiven('audit-policy-file');
  if (isPolicyGiven !== values.isGiven('audit-log-path')) {
    // Half of it would look like an audit that is not there.
    const [given, missing] = isPolicyGiven
      ? (['audit-policy-file', 'audit-log-path'] as const)
      : (['audit-log-path', 'audit-policy-file'] as const);
    report.fault(given, `--${given} needs --${missing}: without both, nothing is audited`);
  }
  if (policy === undefined || path === undefined || limits === undefined) return undefined;
  const { megabytes, maximumDays, maximumBackups, bufferSize } = limits;
  return {
    policy,
    path,
    maximumSize: megabytes * bytesOfMegabyte,
    maximumAge: days(maximumDays),
    maximumBackups,
    bufferSize,
  };
}
