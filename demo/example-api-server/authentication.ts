import { X509Certificate } from 'node:crypto';
import { unauthorized } from './api-error.ts';
import { extraOf, type HeaderValues, headersByName } from './identity-headers.ts';

export interface ExampleUser {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** The client certificate of a connection, as the TLS layer left it. */
export interface PresentedCertificate {
  readonly raw: Uint8Array;
  /** The certificates that the client sent along, DER. */
  readonly intermediates: readonly Uint8Array[];
  /** The chain holds against the certificate authorities of the server. */
  readonly verified: boolean;
  /** The CN of its subject, or the empty string. */
  readonly commonName: string;
}

export interface AuthenticationOptions {
  /** PEM. Client certificates under it are users: CN the name, O the groups. */
  readonly clientCa?: string | undefined;
  /** PEM. Client certificates under it are front proxies, whose X-Remote headers are believed. */
  readonly requestHeaderCa?: string | undefined;
  /** Common names of front proxies; empty allows every name. */
  readonly requestHeaderAllowedNames?: readonly string[] | undefined;
}

/** Owner of a client certificate: the same for every request of a connection. */
interface VerifiedCertificate {
  readonly isFrontProxy: boolean;
  /** `undefined`: the CA of clients did not issue it. */
  readonly user: ExampleUser | undefined;
}

const anonymous: ExampleUser = {
  name: 'system:anonymous',
  uid: '',
  groups: ['system:unauthenticated'],
  extra: {},
};

export function isAnonymous(user: ExampleUser): boolean {
  return user.name === anonymous.name;
}

/** User of a bearer token; `undefined` when the token is not known, or no longer valid. */
export type UserOfToken = (token: string) => ExampleUser | undefined;

export type Authenticate = (
  rawHeaders: readonly string[],
  certificate: PresentedCertificate | undefined,
) => ExampleUser;

/**
 * The authenticators of kube-apiserver in their order: request header, x509, bearer token; anonymous only when
 * none of them was given anything. The returned function throws `ApiError` Unauthorized.
 */
export function makeAuthenticate(options: AuthenticationOptions, userOfToken: UserOfToken): Authenticate {
  const clientCas = certificatesOf(options.clientCa);
  const requestHeaderCas = certificatesOf(options.requestHeaderCa);
  const allowedNames = options.requestHeaderAllowedNames ?? [];

  const verifiedCertificates = new WeakMap<PresentedCertificate, VerifiedCertificate>();
  function verify(presented: PresentedCertificate): VerifiedCertificate {
    const certificate = new X509Certificate(presented.raw);
    const intermediates = presented.intermediates.map((raw) => new X509Certificate(raw));
    const verified = {
      isFrontProxy: chainsTo(certificate, intermediates, requestHeaderCas),
      user: chainsTo(certificate, intermediates, clientCas) ? fromCertificate(certificate) : undefined,
    };
    verifiedCertificates.set(presented, verified);
    return verified;
  }

  return (rawHeaders, presented) => {
    const headers = headersByName(rawHeaders);
    let refused = presented !== undefined && !presented.verified;

    if (presented?.verified === true) {
      const certificate = verifiedCertificates.get(presented) ?? verify(presented);
      if (certificate.isFrontProxy) {
        const allowed = allowedNames.length === 0 || allowedNames.includes(presented.commonName);
        const user = allowed ? fromRequestHeaders(headers) : undefined;
        if (user !== undefined) return authenticated(user);
        refused ||= !allowed;
      }
      if (certificate.user !== undefined) return authenticated(certificate.user);
      // The x509 authenticator refuses a certificate of another issuer: a front proxy that names no user
      // is no anonymous caller.
      refused ||= clientCas.length > 0;
    }
    const bearer = /^bearer +(\S+)$/i.exec(headers.get('authorization')?.[0] ?? '')?.[1];
    if (bearer !== undefined) {
      const user = userOfToken(bearer);
      if (user !== undefined) return authenticated(user);
      refused = true;
    }
    if (refused) throw unauthorized();
    return anonymous;
  };
}

/** The CN of a certificate's subject, or the empty string. */
export function commonNameOf(certificate: X509Certificate): string {
  return subjectValues(certificate, 'CN')[0] ?? '';
}

/** The user that a front proxy vouches for; `undefined` when it names none. */
function fromRequestHeaders(headers: HeaderValues): ExampleUser | undefined {
  const name = headers.get('x-remote-user')?.[0] ?? '';
  if (name === '') return undefined;
  return {
    name,
    uid: headers.get('x-remote-uid')?.[0] ?? '',
    groups: (headers.get('x-remote-group') ?? []).filter((group) => group !== ''),
    extra: extraOf(headers, 'x-remote-extra-'),
  };
}

function fromCertificate(certificate: X509Certificate): ExampleUser {
  return {
    name: commonNameOf(certificate),
    uid: '',
    groups: subjectValues(certificate, 'O'),
    extra: {},
  };
}

function authenticated(user: ExampleUser): ExampleUser {
  // A user that arrives as anonymous through a front proxy stays anonymous (pkg/authentication/group).
  if (user.name === anonymous.name || user.groups.includes('system:authenticated')) return user;
  return { ...user, groups: [...user.groups, 'system:authenticated'] };
}

function subjectValues(certificate: X509Certificate, key: 'CN' | 'O'): string[] {
  // The legacy form holds the plain values; `subject` escapes them. Several values are a list.
  const value: unknown = certificate.toLegacyObject().subject[key];
  return (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string');
}

/** Which of the two bundles a chain ends in; that it holds at all, the TLS layer has verified. */
function chainsTo(
  certificate: X509Certificate,
  intermediates: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
): boolean {
  const isIssuedBy = (issuer: X509Certificate): boolean =>
    certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  if (authorities.some(isIssuedBy)) return true;
  const issuer = intermediates.find((candidate) => candidate.ca && isIssuedBy(candidate));
  // Each intermediate is used once, so that a circle of them ends.
  const others = intermediates.filter((one) => one !== issuer);
  return issuer !== undefined && chainsTo(issuer, others, authorities);
}

function certificatesOf(pem: string | undefined): X509Certificate[] {
  const blocks = pem?.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}
