import type { KeyObject, X509Certificate } from 'node:crypto';
import {
  CertificatePemError,
  parseCertificates,
  parsePrivateKey,
  requireKeyFits,
  subjectOf,
} from '../../node/callers/pem-files.ts';
import type { CertificatePair, PemFile } from '../../node/configuration/serve-config.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import type { FlagReport } from '../flags/flag-values.ts';
import type { ServeFlagName } from '../flags/serve-flags.ts';

/** Reads a file as UTF-8 text; throws when it cannot be read. Injected, so that validation needs no disk. */
export type ReadTextFile = (path: string) => string;

/** A PEM file with the certificates in it, in order; at least one. */
export interface CertificateFile extends PemFile {
  readonly certificates: readonly X509Certificate[];
}

/** Reads the certificates and keys that flags name, and reports every one that is of no use. */
export class CertificateFiles {
  readonly #read: ReadTextFile;
  readonly #now: number;
  readonly #report: FlagReport;

  /** @param now milliseconds since the epoch; certificates outside their validity are warned about */
  constructor(read: ReadTextFile, now: number, report: FlagReport) {
    this.#read = read;
    this.#now = now;
    this.#report = report;
  }

  /** A file that another file names. @throws when it cannot be read. */
  read(path: string): string {
    return this.#read(path);
  }

  text(name: ServeFlagName, path: string): string | undefined {
    try {
      return this.#read(path);
    } catch (error) {
      return this.#report.issue(name, `--${name}: cannot read ${path}: ${errorMessage(error)}`);
    }
  }

  certificates(name: ServeFlagName, path: string | undefined): CertificateFile | undefined {
    if (path === undefined) return undefined;
    const pem = this.text(name, path);
    if (pem === undefined) return undefined;
    const certificates = this.#orIssue(name, () => parseCertificates({ pem, source: path }));
    if (certificates === undefined) return undefined;
    this.#warnOfValidity(name, path, certificates);
    return { path, pem, certificates };
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
    const { certificates } = certificate;
    const certificateSource = `--${certificateFlag} (${certificate.path})`;
    const fits = this.#orIssue(keyFlag, () => {
      requireKeyFits(certificates, privateKey.key, certificateSource, privateKey.path);
      return true;
    });
    if (fits === undefined) return undefined;
    return {
      certificate: { path: certificate.path, pem: certificate.pem },
      privateKey: { path: privateKey.path, pem: privateKey.pem },
    };
  }

  #privateKey(name: ServeFlagName, path: string): (PemFile & { readonly key: KeyObject }) | undefined {
    const pem = this.text(name, path);
    if (pem === undefined) return undefined;
    const key = this.#orIssue(name, () => parsePrivateKey({ pem, source: path }));
    return key === undefined ? undefined : { path, pem, key };
  }

  /** What `read` gives, or its error under the flag it belongs to. */
  #orIssue<Value>(name: ServeFlagName, read: () => Value): Value | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof CertificatePemError)) throw error;
      return this.#report.issue(name, `--${name}: ${error.message}`);
    }
  }

  #warnOfValidity(name: ServeFlagName, path: string, certificates: readonly X509Certificate[]): void {
    for (const certificate of certificates) {
      const subject = subjectOf(certificate);
      if (certificate.validToDate.getTime() < this.#now) {
        this.#report.warn(name, `--${name}: ${subject} in ${path} expired at ${certificate.validTo}`);
      } else if (certificate.validFromDate.getTime() > this.#now) {
        this.#report.warn(
          name,
          `--${name}: ${subject} in ${path} is not valid before ${certificate.validFrom}`,
        );
      }
    }
  }
}
