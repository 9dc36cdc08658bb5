import type { ConnectionInfo } from '../../request/inbound.ts';
import { isJsonObject } from '../../runtime/validation.ts';

export type PlatformCertificate = Pick<ConnectionInfo, 'clientCertificate' | 'clientCertificateError'>;

/**
 * The client certificate that Cloudflare has verified for a request (`request.cf.tlsClientAuth`,
 * developers.cloudflare.com/ssl/client-certificates): its chain ends in an authority that is set up for the hostname.
 * @param cf `request.cf`. To be asked only where the platform itself fills it (`CLIENT_CERTIFICATES=cf`).
 */
export function platformCertificate(cf: unknown): PlatformCertificate {
  const tls = isJsonObject(cf) ? cf['tlsClientAuth'] : undefined;
  if (!isJsonObject(tls) || tls['certPresented'] !== '1') return {};
  if (tls['certVerified'] !== 'SUCCESS') {
    return { clientCertificateError: `the platform did not verify it: ${textOf(tls['certVerified'])}` };
  }
  // Revocation is told apart: a revoked certificate is `SUCCESS` all the same.
  if (tls['certRevoked'] !== '0') return { clientCertificateError: 'it is revoked' };
  const subject = tls['certSubjectDNRFC2253'];
  const attributes = typeof subject === 'string' ? parseDistinguishedName(subject) : undefined;
  return attributes === undefined
    ? { clientCertificateError: 'its subject cannot be read without doubt' }
    : subjectOf(attributes, sha256Of(tls));
}

function sha256Of(tls: Readonly<Record<string, unknown>>): string | undefined {
  const fingerprint = tls['certFingerprintSHA256'];
  return typeof fingerprint === 'string' && /^[0-9a-f]{64}$/i.test(fingerprint)
    ? fingerprint.toLowerCase()
    : undefined;
}

function subjectOf(attributes: readonly NameAttribute[], sha256: string | undefined): PlatformCertificate {
  const commonNames = valuesOf(attributes, 'CN');
  // Kubernetes takes the last one of the certificate; other readers take the first.
  if (commonNames.length > 1) return { clientCertificateError: 'its subject has more than one common name' };
  return {
    clientCertificate: {
      commonName: commonNames[0] ?? '',
      // The text begins with the certificate's last attribute (RFC 4514 section 2.1).
      organizations: valuesOf(attributes, 'O').reverse(),
      ...(sha256 !== undefined && { sha256 }),
      authority: 'client-ca',
    },
  };
}

function valuesOf(attributes: readonly NameAttribute[], type: string): string[] {
  return attributes.filter((attribute) => attribute.type === type).map(({ value }) => value);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 100) : 'without a result';
}

interface NameAttribute {
  readonly type: string;
  readonly value: string;
}

/** RFC 4514 section 3: a keyword. Numeric types are refused with the values that only they have. */
const attributeType = /^[A-Za-z][A-Za-z0-9-]*$/;
const hexPair = /^[0-9A-Fa-f]{2}$/;
/** Section 3, `special` and what may be escaped besides. */
const escapable = new Set(' "#+,;<=>\\');
const mustBeEscaped = new Set('"+;<>\0');

const maximumLength = 4_096;

/**
 * RFC 4514 (and RFC 2253 before it), the last attribute of the certificate first. Strict, for what it says becomes a user:
 * anything that two readers could take for two names is refused.
 * @returns the attributes in the order of the text; `undefined` when it is refused
 */
export function parseDistinguishedName(text: string): readonly NameAttribute[] | undefined {
  if (text === '' || text.length > maximumLength) return undefined;
  const attributes: NameAttribute[] = [];
  let position = 0;
  for (;;) {
    const equals = text.indexOf('=', position);
    if (equals === -1) return undefined;
    const type = text.slice(position, equals);
    const value = readValue(text, equals + 1);
    if (!attributeType.test(type) || value === undefined) return undefined;
    attributes.push({ type: type.toUpperCase(), value: value.text });
    if (value.end === text.length) return attributes;
    position = value.end + 1;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function readValue(text: string, start: number): { readonly text: string; readonly end: number } | undefined {
  const encoder = new TextEncoder();
  const bytes: number[] = [];
  let end = start;
  let lastIsEscaped = false;
  for (; end < text.length && text[end] !== ','; end++) {
    const character = String.fromCodePoint(text.codePointAt(end) ?? 0);
    lastIsEscaped = character === '\\';
    if (character === '\\') {
      const next = text[end + 1] ?? '';
      const pair = text.slice(end + 1, end + 3);
      if (escapable.has(next) && next !== '') {
        bytes.push(next.charCodeAt(0));
        end += 1;
      } else if (hexPair.test(pair)) {
        bytes.push(Number.parseInt(pair, 16));
        end += 2;
      } else return undefined;
      continue;
    }
    if (mustBeEscaped.has(character)) return undefined;
    // Section 2.4: a leading space or number sign is escaped; the latter plain begins a hexadecimal value.
    if (end === start && (character === ' ' || character === '#')) return undefined;
    bytes.push(...encoder.encode(character));
    end += character.length - 1;
  }
  if (bytes.length === 0 || (text[end - 1] === ' ' && !lastIsEscaped)) return undefined;
  try {
    return { text: utf8.decode(new Uint8Array(bytes)), end };
  } catch {
    // Escaped bytes that are no UTF-8: a replacement character would be another name.
    return undefined;
  }
}
