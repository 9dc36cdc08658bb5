/** One file of PEM certificates that the router uses. Times are RFC 3339. */
export interface CertificateStatus {
  /** What the file is for: the flag that names it, without dashes. */
  readonly name: string;
  readonly path: string;
  /** Of the certificate in it that ends first; attributes joined by `, `. */
  readonly subject: string;
  readonly notAfter: string;
  /** Whole days until then, rounded down: negative once it has expired. */
  readonly daysLeft: number;
  /** When a changed file was last taken into use; `null`: it is as it was at start. */
  readonly lastReload: string | null;
  /** Why the file as it is now is not in use, the one before it still is; `null`: it is in use. */
  readonly lastError: string | null;
}

/** A file of other keys (JSON Web Key Sets) that the router uses. */
export type KeyFileStatus = Pick<CertificateStatus, 'name' | 'path' | 'lastReload' | 'lastError'>;

/** What a runtime that reads certificates from files has to say about them. */
export interface CredentialFiles {
  certificates(): readonly CertificateStatus[];
  keyFiles(): readonly KeyFileStatus[];
}

/** Whole days from `now` to `notAfter`, both milliseconds since the epoch; negative when it has passed. */
export function daysLeft(notAfter: number, now: number): number {
  return Math.floor((notAfter - now) / 86_400_000);
}

/**
 * What an operator should see to before it breaks something: reloads that failed and certificates that have
 * expired. Never a reason to take the router out of service: it goes on with what it has.
 */
export function credentialFileWarnings(files: CredentialFiles): readonly string[] {
  const certificates = files.certificates();
  return [
    ...[...certificates, ...files.keyFiles()].flatMap(({ name, path, lastError }) =>
      lastError === null
        ? []
        : [`--${name}: ${path} was not reloaded, the old one stays in use: ${lastError}`],
    ),
    ...certificates.flatMap(({ name, path, subject, notAfter, daysLeft }) =>
      daysLeft < 0 ? [`--${name}: ${subject} in ${path} expired at ${notAfter}`] : [],
    ),
  ];
}
