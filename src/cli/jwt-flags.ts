import { parse as parseYaml, YAMLParseError } from 'yaml';
import type { ParsedKeySet } from '../identity/jwt/key-set.ts';
import {
  type ExternalIssuerConfig,
  parseAuthenticationConfiguration,
} from '../identity/jwt/parse-configuration.ts';
import { parseCertificates } from '../node/certificate-pem.ts';
import { parseKeySetText, parsePublicKeyFile } from '../node/public-key-file.ts';
import type { JwtConfig } from '../node/serve-config.ts';
import type { SnapshotIssue } from '../snapshot/issues.ts';
import type { CertificateFiles } from './certificate-files.ts';
import type { FlagReport, FlagValues } from './flag-values.ts';
import type { ServeFlagName } from './serve-flags.ts';

/** Reads whose tokens establish callers; nobody's unless flags say so. */
export async function readJwtFlags(
  values: FlagValues,
  report: FlagReport,
  files: CertificateFiles,
): Promise<JwtConfig> {
  const serviceAccounts = await readServiceAccountFlags(values, report, files);
  const issuers = await readAuthenticationConfiguration(
    values,
    report,
    files,
    serviceAccounts?.issuers ?? [],
  );
  return { issuers, serviceAccounts };
}

async function readAuthenticationConfiguration(
  values: FlagValues,
  report: FlagReport,
  files: CertificateFiles,
  disallowedIssuers: readonly string[],
): Promise<readonly ExternalIssuerConfig[]> {
  const flag = 'authentication-config';
  const file = values.text(flag);
  const text = file === undefined ? undefined : files.text(flag, file);
  if (file === undefined || text === undefined) return [];
  const document = readYaml(text);
  if (!document.ok) {
    report.fault(flag, `--${flag}: ${file} ${document.fault}`);
    return [];
  }
  const parsed = parseAuthenticationConfiguration(document.value, disallowedIssuers);
  if (!parsed.ok) {
    for (const issue of parsed.issues) report.fault(flag, `--${flag}: ${describe(file, issue)}`);
    return [];
  }
  for (const warning of parsed.warnings) report.warn(flag, `--${flag}: ${describe(file, warning)}`);
  for (const [index, { keys }] of parsed.issuers.entries()) {
    const path = `jwt[${index}].issuer`;
    if (keys.kind === 'file') {
      const keyText = files.text(flag, keys.path);
      if (keyText === undefined) continue;
      reportKeys(flag, `${file}: ${path}.jwksFile: ${keys.path}`, await parseKeySetText(keyText), report);
    } else if (keys.certificateAuthority !== undefined) {
      checkCertificates(keys.certificateAuthority, `${file}: ${path}.certificateAuthority`, report);
    }
  }
  return parsed.issuers;
}

/** The flags of kube-apiserver, under its names (pkg/kubeapiserver/options/authentication.go). */
async function readServiceAccountFlags(
  values: FlagValues,
  report: FlagReport,
  files: CertificateFiles,
): Promise<JwtConfig['serviceAccounts']> {
  const issuerFlag = 'service-account-issuer';
  const keyFlag = 'service-account-key-file';
  if (!values.isGiven(issuerFlag)) {
    for (const name of [keyFlag, 'api-audiences'] as const) {
      if (values.isGiven(name)) report.fault(name, `--${name} needs --${issuerFlag} beside it`);
    }
    return undefined;
  }
  const issuers = values.list(issuerFlag);
  checkIssuers(issuers, report);
  if (!values.isGiven(keyFlag)) {
    report.fault(keyFlag, `--${keyFlag} is required beside --${issuerFlag}: the public keys of its tokens`);
  }
  const keyFiles = values.isGiven(keyFlag) ? values.list(keyFlag) : [];
  for (const path of keyFiles) {
    const text = files.text(keyFlag, path);
    if (text !== undefined) reportKeys(keyFlag, path, await parsePublicKeyFile(text), report);
  }
  const apiAudiences = values.isGiven('api-audiences') ? values.list('api-audiences') : issuers;
  return { issuers, keyFiles, apiAudiences };
}

function checkIssuers(issuers: readonly string[], report: FlagReport): void {
  const flag = 'service-account-issuer';
  for (const [index, issuer] of issuers.entries()) {
    if (issuers.indexOf(issuer) < index) report.fault(flag, `--${flag}: "${issuer}" is given twice`);
    if (issuer.includes(':') && !URL.canParse(issuer)) {
      report.fault(flag, `--${flag}: "${issuer}" contains a ":" but is not a valid URL`);
    }
  }
}

function reportKeys(flag: ServeFlagName, where: string, { issues }: ParsedKeySet, report: FlagReport): void {
  for (const issue of issues) report.fault(flag, `--${flag}: ${describe(where, issue)}`);
}

function describe(where: string, { path, message }: SnapshotIssue): string {
  return path === '' ? `${where} ${message}` : `${where}: ${path} ${message}`;
}

type YamlResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly fault: string };

function readYaml(text: string): YamlResult {
  try {
    return { ok: true, value: parseYaml(text, { logLevel: 'error' }) };
  } catch (error) {
    // Without the parser's words: they quote the text, and it may be a key given by mistake.
    const line = error instanceof YAMLParseError ? error.linePos?.[0].line : undefined;
    return { ok: false, fault: `is neither YAML nor JSON${line === undefined ? '' : `: see line ${line}`}` };
  }
}

function checkCertificates(pem: string, source: string, report: FlagReport): void {
  try {
    parseCertificates({ pem, source });
  } catch (error) {
    const flag = 'authentication-config';
    report.fault(flag, `--${flag}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
