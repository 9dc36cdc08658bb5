import type { ParsedKeySet } from '../../identity/jwt/key-set.ts';
import {
  faultsOfKeys,
  readAuthenticationConfiguration,
} from '../../node/callers/authentication-configuration.ts';
import { parsePublicKeyFile } from '../../node/callers/pem-files.ts';
import type { JwtConfig } from '../../node/configuration/serve-config.ts';
import type { FlagReport, FlagValues } from '../flags/flag-values.ts';
import type { ServeFlagName } from '../flags/serve-flags.ts';
import type { CertificateFiles } from './certificate-files.ts';

/** Reads whose tokens establish callers; no one's unless flags say so. */
export async function readJwtFlags(
  values: FlagValues,
  report: FlagReport,
  files: CertificateFiles,
): Promise<JwtConfig> {
  const serviceAccounts = await readServiceAccountFlags(values, report, files);
  const external = await readAuthenticationConfigurationFlag(
    values,
    report,
    files,
    serviceAccounts?.issuers ?? [],
  );
  return { ...external, serviceAccounts };
}

async function readAuthenticationConfigurationFlag(
  values: FlagValues,
  report: FlagReport,
  files: CertificateFiles,
  disallowedIssuers: readonly string[],
): Promise<Pick<JwtConfig, 'issuers' | 'configurationFile'>> {
  const flag = 'authentication-config';
  const path = values.text(flag);
  const text = path === undefined ? undefined : files.text(flag, path);
  if (path === undefined || text === undefined) return { issuers: [] };
  const readFile = (named: string) => files.read(named);
  const result = await readAuthenticationConfiguration({ path, text, disallowedIssuers, readFile });
  if (!result.ok) {
    for (const fault of result.faults) report.fault(flag, `--${flag}: ${fault}`);
    return { issuers: [] };
  }
  for (const warning of result.warnings) report.warn(flag, `--${flag}: ${warning}`);
  return { issuers: result.issuers, configurationFile: { path, text } };
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
      if (values.isGiven(name)) report.fault(name, `--${name} needs --${issuerFlag}`);
    }
    return undefined;
  }
  const issuers = values.list(issuerFlag);
  checkIssuers(issuers, report);
  if (!values.isGiven(keyFlag)) {
    report.fault(keyFlag, `--${keyFlag} is required with --${issuerFlag}: the public keys of its tokens`);
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

function reportKeys(flag: ServeFlagName, where: string, keys: ParsedKeySet, report: FlagReport): void {
  for (const fault of faultsOfKeys(where, keys)) report.fault(flag, `--${flag}: ${fault}`);
}
