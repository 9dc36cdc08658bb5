import type { ParsedKeySet } from '../../identity/jwt/key-set.ts';
import {
  type ExternalIssuerConfig,
  parseAuthenticationConfiguration,
} from '../../identity/jwt/parse-jwt-configuration.ts';
import { fileErrorMessage } from '../../runtime/error-message.ts';
import { describeIssueOf } from '../../snapshot/format/issues.ts';
import { readYaml } from '../configuration/read-yaml.ts';
import { CertificatePemError, parseCertificates, parseKeySetText } from './pem-files.ts';

export interface AuthenticationConfigurationFile {
  readonly path: string;
  /** YAML or JSON. */
  readonly text: string;
  /** Issuers of service accounts, which are configured by flags. */
  readonly disallowedIssuers: readonly string[];
  /** Reads a file that it names, as UTF-8; throws if it cannot be read. */
  readonly readFile: (path: string) => string;
}

export type AuthenticationConfigurationResult =
  /** Each warning and error is a sentence that begins with the path of the file. */
  | {
      readonly ok: true;
      readonly issuers: readonly ExternalIssuerConfig[];
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly issues: readonly string[] };

/** Checks the file of `--authentication-config`, and the keys and certificates in it and in the files that it names. */
export async function readAuthenticationConfiguration(
  file: AuthenticationConfigurationFile,
): Promise<AuthenticationConfigurationResult> {
  const { path, text, disallowedIssuers } = file;
  const document = readYaml(text);
  if (!document.ok) return { ok: false, issues: [`${path} ${document.issue}`] };
  const parsed = parseAuthenticationConfiguration(document.value, disallowedIssuers);
  if (!parsed.ok) return { ok: false, issues: parsed.issues.map((issue) => describeIssueOf(path, issue)) };
  const issues: string[] = [];
  for (const [index, { keys }] of parsed.issuers.entries()) {
    const place = `${path}: jwt[${index}].issuer`;
    if (keys.kind === 'file') issues.push(...(await issuesOfKeyFile(keys.path, `${place}.jwksFile`, file)));
    else if (keys.certificateAuthority !== undefined)
      issues.push(...issuesOfCertificates(keys.certificateAuthority, `${place}.certificateAuthority`));
  }
  if (issues.length > 0) return { ok: false, issues };
  const warnings = parsed.warnings.map((warning) => describeIssueOf(path, warning));
  return { ok: true, issuers: parsed.issuers, warnings };
}

/** The errors of a key file, each with its place. */
export function issuesOfKeys(where: string, { issues }: ParsedKeySet): readonly string[] {
  return issues.map((issue) => describeIssueOf(where, issue));
}

async function issuesOfKeyFile(
  keyFile: string,
  place: string,
  { readFile }: AuthenticationConfigurationFile,
): Promise<readonly string[]> {
  let text: string;
  try {
    text = readFile(keyFile);
  } catch (error) {
    return [`cannot read ${keyFile}: ${fileErrorMessage(error)}`];
  }
  return issuesOfKeys(`${place}: ${keyFile}`, await parseKeySetText(text));
}

function issuesOfCertificates(pem: string, source: string): readonly string[] {
  try {
    parseCertificates({ pem, source });
    return [];
  } catch (error) {
    if (!(error instanceof CertificatePemError)) throw error;
    return [error.message];
  }
}
