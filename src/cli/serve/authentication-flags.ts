import type { ParsedKeySet } from '../../identity/jwt/key-set.ts';
import {
  issuesOfKeys,
  readAuthenticationConfiguration,
} from '../../node/callers/authentication-configuration.ts';
import { parsePublicKeyFile } from '../../node/callers/pem-files.ts';
import type { JwtConfig, RequestHeaderConfig } from '../../node/configuration/serve-config.ts';
import { type IdentityHeaderNames, token } from '../../request/identity-header-names.ts';
import type { FlagReport, FlagValues } from '../flags/flag-values.ts';
import type { ServeFlagName } from '../flags/serve-flags.ts';
import type { CertificateFile, CertificateFiles } from './certificate-files.ts';

/** Reads which headers hold the caller's identity. */
export function readIdentityHeaderNames(values: FlagValues, report: FlagReport): IdentityHeaderNames {
  const names = (flag: ServeFlagName): readonly string[] => {
    const entries = values.list(flag);
    for (const entry of entries) {
      if (entry.trim() !== '' && !token.test(entry)) {
        report.issue(flag, `--${flag}: "${entry}" is no header name`);
      }
    }
    return entries;
  };
  const headers: IdentityHeaderNames = {
    username: names('requestheader-username-headers'),
    uid: names('requestheader-uid-headers'),
    group: names('requestheader-group-headers'),
    extraPrefix: names('requestheader-extra-headers-prefix'),
  };
  expectStandardHeaders(headers, report);
  return headers;
}

/**
 * API servers write the standard names. Leaving one out is a warning upstream, for the UID an error
 * (k8s.io/apiserver pkg/server/options/authentication.go).
 */
function expectStandardHeaders(headers: IdentityHeaderNames, report: FlagReport): void {
  const without = (flag: ServeFlagName, what: string, entries: readonly string[], standard: string) => {
    const missing =
      entries.length > 0 && !entries.some((entry) => entry.toLowerCase() === standard.toLowerCase());
    return missing
      ? `--${flag} is set without specifying the standard ${standard} ${what} - API aggregation will not work`
      : undefined;
  };
  const doubtful = [
    ['requestheader-username-headers', 'header', headers.username, 'X-Remote-User'],
    ['requestheader-group-headers', 'header', headers.group, 'X-Remote-Group'],
    ['requestheader-extra-headers-prefix', 'header prefix', headers.extraPrefix, 'X-Remote-Extra-'],
  ] as const;
  for (const [flag, what, entries, standard] of doubtful) {
    const message = without(flag, what, entries, standard);
    if (message !== undefined) report.warn(flag, message);
  }
  const uid = without('requestheader-uid-headers', 'header', headers.uid, 'X-Remote-Uid');
  if (uid !== undefined) report.issue('requestheader-uid-headers', uid);
}

/** Reads whose X-Remote headers are believed; `undefined` when there are none. */
export function readRequestHeaderFlags(
  values: FlagValues,
  report: FlagReport,
  clientCa: CertificateFile | undefined,
): RequestHeaderConfig | undefined {
  const allowedNames = readAllowedNames(values, report);
  if (clientCa === undefined || allowedNames === undefined) return undefined;
  return { clientCa: { path: clientCa.path, pem: clientCa.pem }, allowedNames };
}

function readAllowedNames(
  values: FlagValues,
  report: FlagReport,
): RequestHeaderConfig['allowedNames'] | undefined {
  const flag = 'requestheader-allowed-names';
  const withAuthority = values.isGiven('requestheader-client-ca-file');
  if (!values.isGiven(flag)) {
    // Upstream takes a forgotten flag for "any"; here "any" has to be written.
    return withAuthority
      ? report.issue(
          flag,
          `--${flag} is required with --requestheader-client-ca-file: name the front proxies, or set it to blank to allow any Common Name`,
        )
      : undefined;
  }
  if (!withAuthority) {
    return report.issue(flag, `--${flag} needs --requestheader-client-ca-file`);
  }
  const names = values.list(flag, { mayBeBlank: true });
  if (names.length > 0) return names;
  report.warn(
    flag,
    `--${flag} is blank: every holder of a certificate of --requestheader-client-ca-file may speak for any user`,
  );
  return 'any';
}

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
    for (const issue of result.issues) report.issue(flag, `--${flag}: ${issue}`);
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
      if (values.isGiven(name)) report.issue(name, `--${name} needs --${issuerFlag}`);
    }
    return undefined;
  }
  const issuers = values.list(issuerFlag);
  checkIssuers(issuers, report);
  if (!values.isGiven(keyFlag)) {
    report.issue(keyFlag, `--${keyFlag} is required with --${issuerFlag}: the public keys of its tokens`);
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
    if (issuers.indexOf(issuer) < index) report.issue(flag, `--${flag}: "${issuer}" is given twice`);
    if (issuer.includes(':') && !URL.canParse(issuer)) {
      report.issue(flag, `--${flag}: "${issuer}" contains a ":" but is not a valid URL`);
    }
  }
}

function reportKeys(flag: ServeFlagName, where: string, keys: ParsedKeySet, report: FlagReport): void {
  for (const issue of issuesOfKeys(where, keys)) report.issue(flag, `--${flag}: ${issue}`);
}
