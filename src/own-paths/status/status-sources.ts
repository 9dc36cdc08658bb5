import type { RefusedAddress } from '../../snapshot/receiving/refused-addresses.ts';
import type { RouterStatus } from './status-schema.ts';

export type FoundSetting = RouterStatus['found'][number];

/** State of the sync job in this router: what it last read of the cluster. */
export interface EmbeddedSyncStatus {
  /** Credentials in use: the path of a kubeconfig, or `in-cluster`. */
  readonly source: string;
  /** End of the last round, milliseconds since the epoch, whatever could be read in it; `undefined` before the first. */
  readonly lastRoundAt: number | undefined;
  /** The same of the last round in which a server could be read. */
  readonly lastReadAt: number | undefined;
  readonly servers: readonly { readonly state: string }[];
  /** Addresses that the cluster names and nobody calls; the warnings say why. */
  readonly refusedAddresses: readonly RefusedAddress[];
  readonly warnings: readonly string[];
}

export type EmbeddedSyncSource = () => EmbeddedSyncStatus;

export type CertificateStatus = RouterStatus['certificates'][number];
export type KeyFileStatus = RouterStatus['keyFiles'][number];

export interface CredentialFiles {
  certificates(): readonly CertificateStatus[];
  keyFiles(): readonly KeyFileStatus[];
}

export function daysLeft(notAfter: number, now: number): number {
  return Math.floor((notAfter - now) / day);
}

/** Name of the manifest among the key files: it is only looked at. */
export const kubeApiServerManifest = 'kube-apiserver-manifest';

export function manifestWarnings(files: CredentialFiles): readonly string[] {
  return files
    .keyFiles()
    .flatMap(({ name, lastError }) =>
      name === kubeApiServerManifest && lastError !== null ? [lastError] : [],
    );
}

/** Reloads that failed. Never a reason to take the router out of service: it goes on with what it has. */
export function reloadWarnings(files: CredentialFiles): readonly string[] {
  return [...files.certificates(), ...files.keyFiles()].flatMap(({ name, path, lastError }) =>
    lastError === null || name === kubeApiServerManifest
      ? []
      : [`--${name}: ${path} was not reloaded, the old one stays in use: ${lastError}`],
  );
}

export function expiryWarnings(files: CredentialFiles): readonly string[] {
  return files
    .certificates()
    .flatMap(({ name, path, subject, notAfter, daysLeft }) =>
      daysLeft < 0 ? [`--${name}: ${subject} in ${path} expired at ${notAfter}`] : [],
    );
}

const day = 86_400_000;

/** Time in which a credential is valid: milliseconds since the epoch. */
interface Validity {
  readonly notBefore: number;
  readonly notAfter: number;
}

/**
 * `near` is under 30 days. What never had that long to live is renewed by a machine, usually at a third of its life: for it
 * `near` is the last third. A token that lives for less than a day is renewed at a fifth
 * (pkg/kubelet/token/token_manager.go): for it `near` is the last tenth. Pure.
 */
export function expiryOf({ notBefore, notAfter }: Validity, now: number): 'expired' | 'near' | undefined {
  const left = notAfter - now;
  const lifetime = notAfter - notBefore;
  if (left < 0) return 'expired';
  return left < (lifetime < day ? lifetime / 10 : Math.min(30 * day, lifetime / 3)) ? 'near' : undefined;
}

/**
 * The one that ends first, in words. Without those that live for less than a day: a machine renews them. Pure.
 * @param now milliseconds since the epoch
 */
export function firstExpiry(
  certificates: readonly Pick<CertificateStatus, 'name' | 'path' | 'subject' | 'notBefore' | 'notAfter'>[],
  now: number,
): { readonly text: string; readonly isNear: boolean } | undefined {
  const [first] = certificates
    .map((certificate) => ({
      ...certificate,
      notBefore: Date.parse(certificate.notBefore),
      notAfter: Date.parse(certificate.notAfter),
    }))
    .filter(({ notBefore, notAfter }) => notAfter - notBefore >= day)
    .sort((one, other) => one.notAfter - other.notAfter);
  if (first === undefined) return undefined;
  const days = daysLeft(first.notAfter, now);
  const when = days < 0 ? 'expired' : `in ${days} ${days === 1 ? 'day' : 'days'}`;
  return {
    text: `${when}: ${first.subject} in ${first.path} (--${first.name})`,
    isNear: expiryOf(first, now) !== undefined,
  };
}
