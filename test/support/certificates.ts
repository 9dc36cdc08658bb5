import type { webcrypto } from 'node:crypto';
import 'reflect-metadata';
import {
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  type Name,
  PemConverter,
} from '@peculiar/x509';
import {
  alternativeNames,
  authorityExtensions,
  type CertificateContent,
  distinguishedName,
  generateKeys,
  type Keys,
  keyAlgorithm,
  privateKeyPem,
  signCertificate,
} from '../../demo/signed-certificate.ts';

/** A certificate and its key (ECDSA P-256), as PEM. */
export interface CertificatePair {
  readonly certificate: string;
  /** The certificate, then the intermediates up to, and without, the authority that stands at the top. */
  readonly chain: string;
  readonly privateKey: string;
}

interface IssueOptions {
  /** Several only for hostile certificates. */
  readonly commonName?: string | readonly string[];
  readonly organizations?: readonly string[];
  /** Several only for hostile certificates. */
  readonly uids?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  /** Extended key usage; `any` is anyExtendedKeyUsage, `unrestricted` leaves out key usage altogether. */
  readonly usage: 'client' | 'server' | 'any' | 'unrestricted';
  /** Default: an hour ago. */
  readonly notBefore?: Date;
  /** Default: in a day. */
  readonly notAfter?: Date;
}

/**
 * Nothing that it signs carries key identifiers: a chain then hangs by names and signatures alone, which leaves
 * the most to the code that checks it.
 */
export interface Authority extends CertificatePair {
  issue(options: IssueOptions): Promise<CertificatePair>;
  /** An authority whose certificate this one has signed; `usage` restricts what it may issue for. */
  createIntermediate(name: string, usage?: 'client' | 'server'): Promise<Authority>;
  /** Another certificate for the same key, as after a renewal; the name stays unless another is given. */
  renew(newName?: string): Promise<Authority>;
}

/** Creates a self-signed certificate authority. */
export async function createAuthority(name: string): Promise<Authority> {
  return authority(name, await generateKeys(), undefined);
}

/**
 * Issues with the key of a certificate that is no authority: an attack.
 * @param commonName of `pair`, whose subject holds nothing else.
 */
export async function issueWithoutAuthority(
  commonName: string,
  pair: CertificatePair,
  options: IssueOptions,
): Promise<CertificatePair> {
  const der = PemConverter.decodeFirst(pair.privateKey);
  const privateKey = await crypto.subtle.importKey('pkcs8', der, keyAlgorithm, false, ['sign']);
  return issue({ subject: distinguishedName([commonName]), privateKey, intermediates: pair.chain }, options);
}

interface Issuer {
  readonly subject: Name;
  readonly privateKey: webcrypto.CryptoKey;
  /** PEM certificates that a client sends along with a certificate of this issuer. */
  readonly intermediates: string;
}

const hour = 3_600_000;
const usages = {
  client: ExtendedKeyUsage.clientAuth,
  server: ExtendedKeyUsage.serverAuth,
  any: '2.5.29.37.0',
} as const;

async function authority(
  name: string,
  keys: Keys,
  issuer: Issuer | undefined,
  usage?: 'client' | 'server',
): Promise<Authority> {
  const subject = distinguishedName([name]);
  const { privateKey } = keys;
  const certificate = await signCertificate({
    subject,
    keys,
    issuer: issuer ?? { subject, privateKey },
    validity: validity({}),
    extensions: [...authorityExtensions(), ...(usage === undefined ? [] : extendedKeyUsage(usage))],
  });
  const intermediates = issuer === undefined ? '' : certificate + issuer.intermediates;
  const self: Issuer = { subject, privateKey, intermediates };
  return {
    certificate,
    chain: issuer === undefined ? certificate : intermediates,
    privateKey: await privateKeyPem(privateKey),
    issue: (options) => issue(self, options),
    createIntermediate: async (intermediateName, intermediateUsage) =>
      authority(intermediateName, await generateKeys(), self, intermediateUsage),
    renew: (newName = name) => authority(newName, keys, issuer, usage),
  };
}

async function issue(issuer: Issuer, options: IssueOptions): Promise<CertificatePair> {
  const { commonName = [], organizations, uids, usage, dnsNames, ipAddresses } = options;
  const keys = await generateKeys();
  const certificate = await signCertificate({
    subject: distinguishedName(
      typeof commonName === 'string' ? [commonName] : commonName,
      organizations,
      uids,
    ),
    keys,
    issuer,
    validity: validity(options),
    extensions: [
      ...(usage === 'unrestricted'
        ? []
        : [new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true), ...extendedKeyUsage(usage)]),
      ...alternativeNames(dnsNames, ipAddresses),
    ],
  });
  return {
    certificate,
    chain: certificate + issuer.intermediates,
    privateKey: await privateKeyPem(keys.privateKey),
  };
}

function extendedKeyUsage(usage: keyof typeof usages): Extension[] {
  return [new ExtendedKeyUsageExtension([usages[usage]])];
}

function validity(options: Pick<IssueOptions, 'notBefore' | 'notAfter'>): CertificateContent['validity'] {
  return {
    notBefore: options.notBefore ?? new Date(Date.now() - hour),
    notAfter: options.notAfter ?? new Date(Date.now() + 24 * hour),
  };
}
