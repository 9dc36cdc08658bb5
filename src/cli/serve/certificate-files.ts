import type { KeyObject, X509Certificate } from 'node:crypto';
import {
  CertificatePemError,
  parseCertificates,
  parsePrivateKey,
  requireKeyFits,
  subjectOf,
} from '../../node/callers/pem-files.ts';
import type { CertificatePair, PemFile } from '../../node/configuration/serve-config.ts';
import type { ServeFlagName, ServeFlagValues } from '../flags/serve-flags.ts';

/** A PEM file, and the certificates in it, in order; at least one. */
export interface CertificateFile {
  readonly file: PemFile;
  readonly certificates: readonly X509Certificate[];
}

/** Reads the certificates and keys that flags name, and reports every one that is of no use. */
export class CertificateFiles {
  readonly #flags: ServeFlagValues;
  readonly #now: number;

  /** @param now milliseconds since the epoch; certificates outside their validity are warned about */
  constructor(flags: ServeFlagValues, now: number) {
    this.#flags = flags;
    this.#now = now;
  }

  certificates(name: ServeFlagName, path: string | undefined): CertificateFile | undefined {
    if (path === undefined) return undefined;
    const pem = this.#flags.read(name, path);
    if (pem === undefined) return undefined;
    const certificates = this.#orIssue(name, () => parseCertificates({ pem, source: path }));
    if (certificates === undefined) return undefined;
    this.#warnOfValidity(name, path, certificates);
    return { file: { path, pem }, certificates };
  }

  /** A certificate and its key; both paths known. A key that belongs to another certificate is an error. */
  pair(
    certificateFlag: ServeFlagName,
    certificatePath: string | undefined,
    keyFlag: ServeFlagName,
    keyPath: string | undefined,
  ): CertificatePair | undefined {
    const certificate = this.certificates(certificateFlag, certificatePath);
    const privateKey = keyPath === undefined ? undefined : this.#privateKey(keyFlag, keyPath);
    if (certificate === undefined || privateKey === undefined) return undefined;
    const { file, certificates } = certificate;
    return this.#orIssue(keyFlag, () => {
      const source = `--${certificateFlag} (${file.path})`;
      requireKeyFits(certificates, privateKey.key, source, privateKey.file.path);
      return { certificate: file, privateKey: privateKey.file };
    });
  }

  #privateKey(
    name: ServeFlagName,
    path: string,
  ): { readonly file: PemFile; readonly key: KeyObject } | undefined {
    const pem = this.#flags.read(name, path);
    if (pem === undefined) return undefined;
    const key = this.#orIssue(name, () => parsePrivateKey({ pem, source: path }));
    return key === undefined ? undefined : { file: { path, pem }, key };
  }

  /** What `read` gives, or its error under the flag it belongs to. */
  #orIssue<Value>(name: ServeFlagName, read: () => Value): Value | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof CertificatePemError)) throw error;
      return this.#flags.issue(name, `--${name}: ${error.message}`);
    }
  }

  #warnOfValidity(name: ServeFlagName, path: string, certificates: readonly X509Certificate[]): void {
    for (const certificate of certificates) {
      const subject = subjectOf(certificate);
      if (certificate.validToDate.getTime() < this.#now) {
        this.#flags.warn(name, `--${name}: ${subject} in ${path} expired at ${certificate.validTo}`);
      } else if (certificate.validFromDate.getTime() > this.#now) {
        this.#flags.warn(
          name,
          `--${name}: ${subject} in ${path} is not valid before ${certificate.validFrom}`,
        );
      }
    }
  }
}
