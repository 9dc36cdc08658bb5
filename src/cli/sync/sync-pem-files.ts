import { CertificatePemError, parseCertificates, parsePair } from '../../node/callers/pem-files.ts';
import type { SyncFlagValues } from '../flags/sync-flag-groups.ts';

type PemFlag = 'peer-ca-file' | 'target-ca-file' | 'client-cert-file' | 'client-key-file';

/** Reports what is no certificate or key: left to TLS, an error would name neither the file nor its flag. */
export function checkPemFiles(flags: SyncFlagValues): void {
  const check = (name: PemFlag, parse: () => unknown): void => {
    try {
      parse();
    } catch (error) {
      if (!(error instanceof CertificatePemError)) throw error;
      flags.issue(name, `--${name}: ${error.message}`);
    }
  };
  const pemOf = (name: PemFlag) => {
    const file = flags.isGiven(name) ? flags.file(name) : undefined;
    return file && { pem: file.text, source: file.path };
  };
  for (const name of ['peer-ca-file', 'target-ca-file'] as const) {
    const bundle = pemOf(name);
    if (bundle !== undefined) check(name, () => parseCertificates(bundle));
  }
  const [certificate, key] = [pemOf('client-cert-file'), pemOf('client-key-file')];
  if (certificate && key) check('client-cert-file', () => parsePair(certificate, key));
}
