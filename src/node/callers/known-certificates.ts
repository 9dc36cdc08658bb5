import type { X509Certificate } from 'node:crypto';

/** More than the users and nodes that reconnect often; each takes a few hundred bytes. */
const defaultMaximum = 1_024;

/**
 * A cache of results for certificates that a configured authority signed directly, by SHA-256.
 *
 * Only for those: with an intermediate the result depends on the chain that a client sent, and another connection may not
 * send it. And only for connections whose handshake succeeded: that proves that the client has the key, and that the
 * certificate has not expired.
 */
export class KnownCertificates<Finding> {
  readonly #maximum: number;
  /** Oldest first. */
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
