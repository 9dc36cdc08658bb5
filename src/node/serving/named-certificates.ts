import { X509Certificate } from 'node:crypto';
import {
  createSecureContext,
  type SecureContext,
  type SecureContextOptions,
  type TlsOptions,
} from 'node:tls';

/** A certificate with its chain, its key (PEM), and the names that clients get it for. */
export interface NamedPair {
  readonly cert: string;
  readonly key: string;
  /** Host names, also `*.example.com`. None: those of the certificate. */
  readonly names: readonly string[];
}

/** The certificates that clients get who ask for a name (RFC 6066 section 3). */
export class NamedCertificates {
  #contexts: ReadonlyMap<string, SecureContext> = new Map();

  /** @throws when a pair cannot be used; the earlier ones stay. */
  replace(pairs: readonly NamedPair[], options: SecureContextOptions): void {
    const contexts = new Map(
      pairs.map((pair) => [pair, createSecureContext({ ...options, cert: pair.cert, key: pair.key })]),
    );
    this.#contexts = byName(pairs, (pair) => contexts.get(pair) as SecureContext);
  }

  /** Without a context for the name the server takes its own. */
  readonly choose: NonNullable<TlsOptions['SNICallback']> = (name, done) =>
    done(null, certificateFor(name, this.#contexts));
}

/**
 * What each name gets, as kube-apiserver has it (k8s.io/apiserver
 * pkg/server/dynamiccertificates/named_certificates.go): names that were given come before those of certificates, and of
 * equals the earlier pair. Pure.
 */
export function byName<Value>(
  pairs: readonly NamedPair[],
  valueFor: (pair: NamedPair) => Value,
): ReadonlyMap<string, Value> {
  const given = pairs.flatMap((pair) => pair.names.map((name) => [name, pair] as const));
  const own = pairs
    .filter(({ names }) => names.length === 0)
    .flatMap((pair) => namesOf(pair.cert).map((name) => [name, pair] as const));
  const values = new Map<string, Value>();
  for (const [name, pair] of [...given, ...own]) {
    const key = name.toLowerCase();
    if (!values.has(key)) values.set(key, valueFor(pair));
  }
  return values;
}

/** The name itself, else a wildcard for its first label (Go's `tls.Config.getCertificate`). Pure. */
export function certificateFor<Value>(name: string, values: ReadonlyMap<string, Value>): Value | undefined {
  const key = name.toLowerCase();
  return values.get(key) ?? values.get(key.replace(/^[^.]*/, '*'));
}

/** Addresses are left out: no client asks for one (RFC 6066 section 3). */
function namesOf(chain: string): readonly string[] {
  const certificate = new X509Certificate(chain);
  const commonName: unknown = certificate.toLegacyObject().subject?.CN;
  const alternatives = (certificate.subjectAltName ?? '')
    .split(', ')
    .flatMap((each) => (each.startsWith('DNS:') ? [each.slice(4)] : []));
  // Of several common names the last one counts in Go.
  const own = [commonName].flat().slice(-1).map(String);
  return [...own.filter((name) => !/^[\d.]+$/.test(name)), ...alternatives].filter((name) =>
    hostName.test(name),
  );
}

/** `*`, or a DNS-1123 subdomain, with a wildcard before it or not. */
const hostName = /^(?:\*|(?:\*\.)?[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*)$/i;
