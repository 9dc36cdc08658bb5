import { CertificatePemError, parseCertificates, parsePair } from '../../node/callers/pem-files.ts';
import type { SyncFlagValues } from '../flags/sync-flag-groups.ts';

const bundles = ['peer-ca-file', 'target-ca-file'] as const;
const pairs = [
  ['client-cert-file', 'client-key-file'],
  ['tls-cert-file', 'tls-private-key-file'],
] as const;

/** Reports what is no certificate or key: left to TLS, an error would name neither the file nor its flag. */
export function checkPemFiles(flags: SyncFlagValues): void {
  const check = (name: (typeof bundles)[number] | (typeof pairs)[number][0], parse: () => unknown): void => {
    try {
      parse();
    } catch (error) {
      if (!(error instanceof CertificatePemError)) throw error;
      flags.issue(name, `--${name}: ${error.message}`);
    }
  };
  const pemOf = (name: (typeof bundles)[number] | (typeof pairs)[number][0 | 1]) => {
    const file = flags.isGiven(name) ? flags.file(name) : undefined;
    return file && { pem: file.text, source: file.path };
  };
  for (const name of bundles) {
    const bundle = pemOf(name);
    if (bundle !== undefined) check(name, () => parseCertificates(bundle));
  }
  for (const [certificateFlag, keyFlag] of pairs) {
    const [certificate, key] = [pemOf(certificateFlag), pemOf(keyFlag)];
    if (certificate && key) check(certificateFlag, () => parsePair(certificate, key));
  }
}
