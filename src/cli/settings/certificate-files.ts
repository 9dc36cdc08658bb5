import type { KeyObject, X509Certificate } from 'node:crypto';
import {
  CertificatePemError,
  parseCertificates,
  parsePrivateKey,
  requireKeyFits,
  subjectOf,
} from '../../node/callers/pem-files.ts';
import type { CertificatePair, PemFile } from '../../node/configuration/serve-config.ts';
import type { FlagOf, SectionSchema } from '../../node/configuration/setting.ts';
import type { Settings } from './read-settings.ts';

interface CertificateFile {
  readonly file: PemFile;
  readonly certificates: readonly X509Certificate[];
}

/** Reads the certificates and keys that settings name, and reports every one that is of no use. */
export class CertificateFiles<Root extends SectionSchema> {
  readonly #settings: Settings<Root>;
  readonly #now: number;

  /** @param now milliseconds since the epoch; certificates outside their validity are warned about */
  constructor(settings: Settings<Root>, now: number) {
    this.#settings = settings;
    this.#now = now;
  }

  certificates(flag: FlagOf<Root>, path: string | undefined): CertificateFile | undefined {
    const file = this.#settings.file(flag, path);
    if (file === undefined) return undefined;
    const source = { pem: file.text, source: file.path };
    const certificates = this.#orIssue(flag, () => parseCertificates(source));
    if (certificates === undefined) return undefined;
    this.#warnOfValidity(flag, file.path, certificates);
    return { file: { path: file.path, pem: file.text }, certificates };
  }

  pair(
    certificateFlag: FlagOf<Root>,
    certificatePath: string | undefined,
    keyFlag: FlagOf<Root>,
    keyPath: string | undefined,
  ): CertificatePair | undefined {
    const certificate = this.certificates(certificateFlag, certificatePath);
    const privateKey = this.#privateKey(keyFlag, keyPath);
    if (certificate === undefined || privateKey === undefined) return undefined;
    const { file, certificates } = certificate;
    return this.#orIssue(keyFlag, () => {
      const source = `--${certificateFlag} (${file.path})`;
      requireKeyFits(certificates, privateKey.key, source, privateKey.file.path);
      return { certificate: file, privateKey: privateKey.file };
    });
  }

  #privateKey(
    flag: FlagOf<Root>,
    keyPath: string | undefined,
  ): { readonly file: PemFile; readonly key: KeyObject } | undefined {
    const file = this.#settings.file(flag, keyPath);
    if (file === undefined) return undefined;
    const { path, text: pem } = file;
    const key = this.#orIssue(flag, () => parsePrivateKey({ pem, source: path }));
    return key === undefined ? undefined : { file: { path, pem }, key };
  }

  #orIssue<Value>(flag: FlagOf<Root>, read: () => Value): Value | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof CertificatePemError)) throw error;
      return this.#settings.issue(flag, `--${flag}: ${error.message}`);
    }
  }

  #warnOfValidity(flag: FlagOf<Root>, path: string, certificates: readonly X509Certificate[]): void {
    for (const certificate of certificates) {
      const what = `--${flag}: ${subjectOf(certificate)} in ${path}`;
      if (certificate.validToDate.getTime() < this.#now) {
        this.#settings.warn(flag, `${what} expired at ${certificate.validTo}`);
      } else if (certificate.validFromDate.getTime() > this.#now) {
        this.#settings.warn(flag, `${what} is not valid before ${certificate.validFrom}`);
      }
    }
  }
}
