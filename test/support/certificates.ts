import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';
import {
  bitString,
  boolean,
  contextTag,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  set,
  time,
  utf8String,
} from './der.ts';

/** A certificate and its key (ECDSA P-256), as PEM. */
export interface CertificatePair {
  readonly certificate: string;
  /** The certificate, then the intermediates up to, and without, the authority that stands at the top. */
  readonly chain: string;
  readonly privateKey: string;
}

export interface IssueOptions {
  /** Several only for hostile certificates. */
  readonly commonName?: string | readonly string[];
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  /** Extended key usage; `any` is anyExtendedKeyUsage, `unrestricted` leaves out key usage altogether. */
  readonly usage: 'client' | 'server' | 'any' | 'unrestricted';
  /** Default: an hour ago. */
  readonly notBefore?: Date;
  /** Default: in a day. */
  readonly notAfter?: Date;
}

export interface Authority extends CertificatePair {
  issue(options: IssueOptions): CertificatePair;
  /** An authority whose certificate this one has signed; `usage` restricts what it may issue for. */
  createIntermediate(name: string, usage?: 'client' | 'server'): Authority;
  /** Another certificate for the same key, as after a renewal; the name stays unless another is given. */
  renew(newName?: string): Authority;
}

/** Creates a self-signed certificate authority. */
export function createAuthority(name: string): Authority {
  return authority(name, generateKey(), undefined);
}

/**
 * Issues with the key of a certificate that is no authority: an attack.
 * @param commonName of `pair`, whose subject holds nothing else.
 */
export function issueWithoutAuthority(
  commonName: string,
  pair: CertificatePair,
  options: IssueOptions,
): CertificatePair {
  const subject = distinguishedName([['2.5.4.3', commonName]]);
  return issue({ subject, key: createPrivateKey(pair.privateKey), intermediates: pair.chain }, options);
}

interface Issuer {
  readonly subject: Buffer;
  readonly key: KeyObject;
  /** PEM certificates that a client sends along with a certificate of this issuer. */
  readonly intermediates: string;
}

interface Key {
  readonly privateKey: KeyObject;
  readonly publicKeyInfo: Buffer;
}

const hour = 3_600_000;
const ecdsaWithSha256 = sequence(objectIdentifier('1.2.840.10045.4.3.2'));
const usages = { client: '1.3.6.1.5.5.7.3.2', server: '1.3.6.1.5.5.7.3.1', any: '2.5.29.37.0' } as const;

function authority(
  name: string,
  key: Key,
  issuer: Issuer | undefined,
  usage?: 'client' | 'server',
): Authority {
  const subject = distinguishedName([['2.5.4.3', name]]);
  const certificate = createCertificate({
    subject,
    key,
    issuer: issuer ?? { subject, key: key.privateKey, intermediates: '' },
    extensions: [
      // cA TRUE; keyCertSign and cRLSign are bits 5 and 6.
      extension('2.5.29.19', sequence(boolean(true)), 'critical'),
      extension('2.5.29.15', bitString(Buffer.from([0x06]), 1), 'critical'),
      ...(usage === undefined ? [] : [extendedKeyUsage(usage)]),
    ],
  });
  const self: Issuer = {
    subject,
    key: key.privateKey,
    intermediates: issuer === undefined ? '' : certificate + issuer.intermediates,
  };
  return {
    certificate,
    chain: issuer === undefined ? certificate : self.intermediates,
    privateKey: privateKeyPem(key),
    issue: (options) => issue(self, options),
    createIntermediate: (intermediateName, intermediateUsage) =>
      authority(intermediateName, generateKey(), self, intermediateUsage),
    renew: (newName = name) => authority(newName, key, issuer, usage),
  };
}

function issue(issuer: Issuer, options: IssueOptions): CertificatePair {
  const { commonName = [], organizations = [], usage, notBefore, notAfter } = options;
  const key = generateKey();
  const commonNames = typeof commonName === 'string' ? [commonName] : commonName;
  const certificate = createCertificate({
    subject: distinguishedName([
      ...organizations.map((organization) => ['2.5.4.10', organization] as const),
      ...commonNames.map((each) => ['2.5.4.3', each] as const),
    ]),
    key,
    issuer,
    notBefore,
    notAfter,
    extensions: [
      ...(usage === 'unrestricted'
        ? []
        : [
            // digitalSignature is bit 0.
            extension('2.5.29.15', bitString(Buffer.from([0x80]), 7), 'critical'),
            extendedKeyUsage(usage),
          ]),
      ...subjectAlternativeNames(options),
    ],
  });
  return { certificate, chain: certificate + issuer.intermediates, privateKey: privateKeyPem(key) };
}

interface CertificateContent {
  readonly subject: Buffer;
  readonly key: Key;
  readonly issuer: Issuer;
  readonly notBefore?: Date | undefined;
  readonly notAfter?: Date | undefined;
  readonly extensions: readonly Buffer[];
}

/** RFC 5280 section 4.1. */
function createCertificate(content: CertificateContent): string {
  const { subject, key, issuer, extensions } = content;
  const notBefore = content.notBefore ?? new Date(Date.now() - hour);
  const notAfter = content.notAfter ?? new Date(Date.now() + 24 * hour);
  const toBeSigned = sequence(
    contextTag(0, 'constructed', integer(Buffer.from([2]))),
    // A leading one bit less keeps the serial number positive and of fixed length.
    integer(Buffer.concat([Buffer.from([0x01]), randomBytes(15)])),
    ecdsaWithSha256,
    issuer.subject,
    sequence(time(notBefore), time(notAfter)),
    subject,
    key.publicKeyInfo,
    contextTag(3, 'constructed', sequence(...extensions)),
  );
  const signature = sign('sha256', toBeSigned, issuer.key);
  return pem('CERTIFICATE', sequence(toBeSigned, ecdsaWithSha256, bitString(signature)));
}

function distinguishedName(attributes: readonly (readonly [type: string, value: string])[]): Buffer {
  return sequence(
    ...attributes.map(([type, value]) => set(sequence(objectIdentifier(type), utf8String(value)))),
  );
}

function extension(type: string, value: Buffer, critical?: 'critical'): Buffer {
  return sequence(
    objectIdentifier(type),
    ...(critical === undefined ? [] : [boolean(true)]),
    octetString(value),
  );
}

function extendedKeyUsage(usage: keyof typeof usages): Buffer {
  return extension('2.5.29.37', sequence(objectIdentifier(usages[usage])));
}

function subjectAlternativeNames({ dnsNames = [], ipAddresses = [] }: IssueOptions): Buffer[] {
  const names = [
    ...dnsNames.map((name) => contextTag(2, 'primitive', Buffer.from(name, 'ascii'))),
    ...ipAddresses.map((address) => contextTag(7, 'primitive', addressBytes(address))),
  ];
  return names.length === 0 ? [] : [extension('2.5.29.17', sequence(...names))];
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  // The URL parser writes IPv6 in its shortest form: `::` stands for all missing groups.
  const [head = '', tail] = new URL(`https://[${address}]`).hostname.slice(1, -1).split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = new Array<string>(8 - left.length - right.length).fill('0');
  const bytes = Buffer.alloc(16);
  [...left, ...zeros, ...right].forEach((group, index) => {
    bytes.writeUInt16BE(Number.parseInt(group, 16), index * 2);
  });
  return bytes;
}

function generateKey(): Key {
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
    publicKeyEncoding: { type: 'spki', format: 'der' },
  });
  return {
    privateKey: createPrivateKey({ key: privateKey, format: 'der', type: 'pkcs8' }),
    publicKeyInfo: publicKey,
  };
}

function privateKeyPem(key: Key): string {
  return key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function pem(label: string, content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
