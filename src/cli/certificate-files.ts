import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { CertificatePair, PemFile } from '../node/serve-config.ts';
import type { FlagReport } from './flag-values.ts';
import type { ServeFlagName } from './serve-flags.ts';

/** Reads a file as UTF-8 text; throws when it cannot be read. Injected, so that validation needs no disk. */
export type ReadTextFile = (path: string) => string;

/** A PEM file with the certificates in it, in order; at least one. */
export interface CertificateFile extends PemFile {
  readonly certificates: readonly X509Certificate[];
}

const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

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

  text(name: ServeFlagName, path: string): string | undefined {
    try {
      return this.#read(path);
    } catch (error) {
      return this.#report.fault(name, `--${name}: cannot read ${path}: ${describe(error)}`);
    }
  }

  certificates(name: ServeFlagName, path: string | undefined): CertificateFile | undefined {
    if (path === undefined) return undefined;
    const pem = this.text(name, path);
    if (pem === undefined) return undefined;
    const blocks = pem.match(certificateBlock) ?? [];
    if (blocks.length === 0) {
      return this.#report.fault(name, `--${name}: ${path} holds no PEM certificate`);
    }
    const certificates: X509Certificate[] = [];
    for (const [index, block] of blocks.entries()) {
      try {
        certificates.push(new X509Certificate(block));
      } catch (error) {
        const position = `certificate ${index + 1} of ${blocks.length}`;
        return this.#report.fault(
          name,
          `--${name}: ${position} in ${path} is not readable: ${describe(error)}`,
        );
      }
    }
    this.#warnOfValidity(name, path, certificates);
    return { path, pem, certificates };
  }

  /** A certificate and its key; both paths known. A key that belongs to another certificate is a fault. */
  pair(
    certificateFlag: ServeFlagName,
    certificatePath: string | undefined,
    keyFlag: ServeFlagName,
    keyPath: string | undefined,
  ): CertificatePair | undefined {
    const certificate = this.certificates(certificateFlag, certificatePath);
    const privateKey = keyPath === undefined ? undefined : this.#privateKey(keyFlag, keyPath);
    if (certificate === undefined || privateKey === undefined) return undefined;
    if (certificate.certificates[0]?.checkPrivateKey(privateKey.key) !== true) {
      return this.#report.fault(
        keyFlag,
        `--${keyFlag}: the key in ${privateKey.path} does not belong to the first certificate of --${certificateFlag} (${certificate.path})`,
      );
    }
    return {
      certificate: { path: certificate.path, pem: certificate.pem },
      privateKey: { path: privateKey.path, pem: privateKey.pem },
    };
  }

  #privateKey(name: ServeFlagName, path: string): (PemFile & { readonly key: KeyObject }) | undefined {
    const pem = this.text(name, path);
    if (pem === undefined) return undefined;
    try {
      return { path, pem, key: createPrivateKey(pem) };
    } catch (error) {
      // The message of OpenSSL names the encoding fault, never a part of the key.
      return this.#report.fault(
        name,
        `--${name}: ${path} holds no usable PEM private key (encrypted keys are not supported): ${describe(error)}`,
      );
    }
  }

  #warnOfValidity(name: ServeFlagName, path: string, certificates: readonly X509Certificate[]): void {
    for (const certificate of certificates) {
      const subject = certificate.subject.replaceAll('\n', ', ');
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

/** Whether two bundles hold a certificate with the same public key, whatever else differs. */
export function shareKey(one: CertificateFile, other: CertificateFile): boolean {
  return one.certificates.some((certificate) =>
    other.certificates.some((candidate) => certificate.publicKey.equals(candidate.publicKey)),
  );
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
