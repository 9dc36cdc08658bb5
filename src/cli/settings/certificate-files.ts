import type { KeyObject, X509Certificate } from 'node:crypto';
import {
  CertificatePemError,
  parseCertificates,
  parsePrivateKey,
  requireKeyFits,
  subjectOf,
} from '../../node/callers/pem-files.ts';
import type { RouterFlag, routerSettings } from '../../node/configuration/router-settings.ts';
import type { CertificatePair, PemFile } from '../../node/configuration/serve-config.ts';
import type { Settings } from '../settings/read-settings.ts';

/** A PEM file, and the certificates in it, in order; at least one. */
export interface CertificateFile {
  readonly file: PemFile;
  readonly certificates: readonly X509Certificate[];
}

/** The settings of one call of `serve`. */
export type ServeSettings = Settings<typeof routerSettings>;

/** Reads the certificates and keys that settings name, and reports every one that is of no use. */
export class CertificateFiles {
  readonly #settings: ServeSettings;
  readonly #now: number;

  /** @param now milliseconds since the epoch; certificates outside their validity are warned about */
  constructor(settings: ServeSettings, now: number) {
    this.#settings = settings;
    this.#now = now;
  }

  certificates(flag: RouterFlag, path: string | undefined): CertificateFile | undefined {
    const file = this.#settings.file(flag, path);
    if (file === undefined) return undefined;
    const source = { pem: file.text, source: file.path };
    const certificates = this.#orIssue(flag, () => parseCertificates(source));
    if (certificates === undefined) return undefined;
    this.#warnOfValidity(flag, file.path, certificates);
    return { file: { path: file.path, pem: file.text }, certificates };
  }

  /** A certificate and its key. A key that belongs to another certificate is an error. */
  pair(
    certificateFlag: RouterFlag,
    certificatePath: string | undefined,
    keyFlag: RouterFlag,
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
    flag: RouterFlag,
    keyPath: string | undefined,
  ): { readonly file: PemFile; readonly key: KeyObject } | undefined {
    const file = this.#settings.file(flag, keyPath);
    if (file === undefined) return undefined;
    const { path, text: pem } = file;
    const key = this.#orIssue(flag, () => parsePrivateKey({ pem, source: path }));
    return key === undefined ? undefined : { file: { path, pem }, key };
  }

  /** What `read` gives, or its error under the flag it belongs to. */
  #orIssue<Value>(flag: RouterFlag, read: () => Value): Value | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof CertificatePemError)) throw error;
      return this.#settings.issue(flag, `--${flag}: ${error.message}`);
    }
  }

  #warnOfValidity(flag: RouterFlag, path: string, certificates: readonly X509Certificate[]): void {
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
