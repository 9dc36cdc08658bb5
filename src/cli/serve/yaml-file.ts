import { parse as parseYaml, YAMLParseError } from 'yaml';
import type { SnapshotIssue } from '../../snapshot/format/issues.ts';
import type { FlagReport, FlagValues } from '../flags/flag-values.ts';
import type { ServeFlagName } from '../flags/serve-flags.ts';
import type { CertificateFiles } from './certificate-files.ts';

type ParsedDocument<Value> =
  | { readonly ok: true; readonly value: Value; readonly warnings: readonly SnapshotIssue[] }
  | { readonly ok: false; readonly issues: readonly SnapshotIssue[] };

/**
 * Reads the YAML or JSON document that a flag names; what is wrong with it, and what is only doubtful, is reported
 * under the flag, with the file and the place. `undefined` without the flag and after a fault.
 */
export function readDocumentFlag<Value>(
  name: ServeFlagName,
  { values, report, files }: FlagSources,
  parse: (document: unknown) => ParsedDocument<Value>,
): Value | undefined {
  const path = values.text(name);
  const text = path === undefined ? undefined : files.text(name, path);
  if (path === undefined || text === undefined) return undefined;
  let document: unknown;
  try {
    document = parseYaml(text, { logLevel: 'error' });
  } catch (error) {
    // Without the parser's words: they quote the text, and it may be a key given by mistake.
    const line = error instanceof YAMLParseError ? error.linePos?.[0].line : undefined;
    const place = line === undefined ? '' : `: see line ${line}`;
    return report.fault(name, `--${name}: ${path} is neither YAML nor JSON${place}`);
  }
  const parsed = parse(document);
  if (!parsed.ok) {
    for (const issue of parsed.issues) report.fault(name, `--${name}: ${describe(path, issue)}`);
    return undefined;
  }
  for (const warning of parsed.warnings) report.warn(name, `--${name}: ${describe(path, warning)}`);
  return parsed.value;
}

/** What the flags were given, where faults go, and the files that flags name. */
export interface FlagSources {
  readonly values: FlagValues;
  readonly report: FlagReport;
  readonly files: CertificateFiles;
}

function describe(where: string, { path, message }: SnapshotIssue): string {
  return path === '' ? `${where} ${message}` : `${where}: ${path} ${message}`;
}
