import type { X509Certificate } from 'node:crypto';

/** More than the users and nodes that connect again and again; of one certificate a few hundred bytes are kept. */
const defaultMaximum = 1_024;

/**
 * What was found out about certificates that a configured authority has signed itself, by the SHA-256 of their bytes.
 *
 * Only of those: what is found of a certificate below an intermediate rests on the chain that its client sent along,
 * which another connection need not have sent. And only for connections whose handshake has verified it again: that
 * proves the possession of its key, and that it has not expired.
 */
export class KnownCertificates<Finding> {
  readonly #maximum: number;
  /** The oldest stands first. */
  readonly #findings = new Map<string, Finding>();

  constructor(maximum: number = defaultMaximum) {
    this.#maximum = maximum;
  }

  get(certificate: X509Certificate): Finding | undefined {
    return this.#findings.get(certificate.fingerprint256);
  }

  set(certificate: X509Certificate, finding: Finding): void {
    if (this.#findings.size >= this.#maximum) {
      const [oldest] = this.#findings.keys();
      if (oldest !== undefined) this.#findings.delete(oldest);
    }
    this.#findings.set(certificate.fingerprint256, finding);
  }
}
