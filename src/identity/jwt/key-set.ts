import { importJWK, type JWK } from 'jose';
import { fieldPath, IssueList, type SnapshotIssue } from '../../snapshot/format/issues.ts';
import { isJsonObject } from '../../snapshot/format/json-text.ts';
import { privateMembers } from '../../snapshot/signing/keys.ts';
import { TokenError } from './token-error.ts';

/** A public key of an issuer. */
interface VerificationKey {
  readonly kid: string | undefined;
  /** What the key may be used with; fixed by its kind and its own `alg`, never by a token's header. */
  readonly algorithms: readonly SignatureAlgorithm[];
  /** The members of the public key alone. jose imports it once for each algorithm. */
  readonly jwk: JWK;
}

export type KeySet = readonly VerificationKey[];

export interface ParsedKeySet {
  /** The keys that can be used. */
  readonly keys: KeySet;
  /** Errors of the set, or of single keys, which were left out. Never holds a key. */
  readonly issues: readonly SnapshotIssue[];
}

/** Issuers have a handful; a token without `kid` is tried with every one of its kind. */
const maximumKeys = 100;

/** RFC 7518 section 3.3: 2048 bits at least; 256 bytes are 342 base64url characters. */
const shortestModulus = 342;

/**
 * Reads a JSON Web Key Set (RFC 7517 section 5). Keys that say that they are for something else than signatures
 * are left out without a word; every other key that cannot be used is an issue.
 *
 * @example
 * ```ts
 * const { publicJwk } = await generateSigningKey('ES256');
 * const { keys, issues } = await parseKeySet({ keys: [publicJwk] });
 * console.log(keys.length, issues.length); // 1 0
 * ```
 */
export async function parseKeySet(document: unknown): Promise<ParsedKeySet> {
  const issues = new IssueList();
  const keys: VerificationKey[] = [];
  for (const [index, jwk] of keyEntries(document, issues).entries()) {
    const path = fieldPath('keys', index);
    const key = await readKey(jwk, path, issues);
    if (key !== undefined) keys.push(key);
  }
  if (keys.length === 0 && issues.isEmpty) issues.add('keys', 'must hold a key for signatures');
  return { keys, issues: issues.toArray() };
}

function keyEntries(document: unknown, issues: IssueList): readonly unknown[] {
  const keys: unknown = isJsonObject(document) ? document['keys'] : undefined;
  if (!Array.isArray(keys)) {
    issues.add('', 'must be a JSON Web Key Set: an object with an array under "keys"');
    return [];
  }
  if (keys.length > maximumKeys) {
    issues.add('keys', `must hold at most ${maximumKeys} keys, not ${keys.length}`);
    return [];
  }
  return keys;
}

async function readKey(jwk: unknown, path: string, issues: IssueList): Promise<VerificationKey | undefined> {
  if (!isJsonObject(jwk)) {
    issues.add(path, 'must be an object');
    return undefined;
  }
  const privateMember = privateMembers.find((member) => Object.hasOwn(jwk, member));
  if (privateMember !== undefined) {
    // Every reader of the set could sign tokens with it.
    issues.add(
      fieldPath(path, privateMember),
      'must not be here: this is a private or secret key; put its public half here',
    );
    return undefined;
  }
  if (isForSomethingElse(jwk)) return undefined;
  const kid = jwk['kid'];
  if (kid !== undefined && typeof kid !== 'string') {
    issues.add(`${path}.kid`, 'must be text');
    return undefined;
  }
  const possible = algorithmsOfKey(jwk);
  if (possible.length === 0) {
    issues.add(path, 'must be an RSA, EC (P-256, P-384, P-521) or Ed25519 key');
    return undefined;
  }
  const alg = jwk['alg'];
  const algorithms = alg === undefined ? possible : possible.filter((each) => each === alg);
  const [first] = algorithms;
  if (first === undefined) {
    issues.add(`${path}.alg`, `must be one of ${possible.join(', ')}, which is what this kind of key is for`);
    return undefined;
  }
  if (jwk['kty'] === 'RSA' && typeof jwk['n'] === 'string' && jwk['n'].length < shortestModulus) {
    issues.add(`${path}.n`, 'must have 2048 bits or more');
    return undefined;
  }
  const publicJwk = publicPart(jwk);
  try {
    await importJWK(publicJwk, first);
    return { kid, algorithms, jwk: publicJwk };
  } catch {
    // The runtime's own words may repeat a part of the key.
    issues.add(path, 'must be a valid public key: its members cannot be read');
    return undefined;
  }
}

/** RFC 7517 sections 4.2 and 4.3. */
function isForSomethingElse(jwk: Readonly<Record<string, unknown>>): boolean {
  const { use, key_ops: operations } = jwk;
  return (
    (use !== undefined && use !== 'sig') || (Array.isArray(operations) && !operations.includes('verify'))
  );
}

/** Only what makes up the key: `ext` and the like are the document's business, not the runtime's. */
function publicPart(jwk: Readonly<Record<string, unknown>>): JWK {
  const { kty, crv, x, y, n, e } = jwk;
  const members = { kty, crv, x, y, n, e };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as JWK;
}

/**
 * The asymmetric signature algorithms that can be checked here (RFC 7518 section 3.1, RFC 8037, RFC 9864), by the kind of
 * key: those of Kubernetes (plugin/pkg/authenticator/token/oidc) and Ed25519.
 */
const algorithmsByKind = {
  RSA: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  'EC P-256': ['ES256'],
  'EC P-384': ['ES384'],
  'EC P-521': ['ES512'],
  'OKP Ed25519': ['EdDSA', 'Ed25519'],
} as const;
export type SignatureAlgorithm = (typeof algorithmsByKind)[keyof typeof algorithmsByKind][number];

const signatureAlgorithms: ReadonlySet<string> = new Set(Object.values(algorithmsByKind).flat());

function isSignatureAlgorithm(alg: string): alg is SignatureAlgorithm {
  return signatureAlgorithms.has(alg);
}

/**
 * The algorithm a token says it is signed with.
 * @throws {TokenError} for `none` and HMAC, which would make a public key a secret that every reader knows
 *   (RFC 8725 section 2.1), and for algorithms that cannot be checked here.
 */
export function requireSignatureAlgorithm(alg: string): SignatureAlgorithm {
  if (isSignatureAlgorithm(alg)) return alg;
  // Compared in any case: a spelling that some other verifier takes for the same thing is no better.
  if (/^(none|hs\d*)$/i.test(alg)) {
    throw new TokenError('ForbiddenAlgorithm', 'is not signed with an asymmetric algorithm');
  }
  throw new TokenError('UnsupportedAlgorithm', 'is signed with an algorithm that cannot be checked here');
}

/** The algorithms a public key can be used with; empty for kinds that cannot be used here. */
function algorithmsOfKey({ kty, crv }: Readonly<Record<string, unknown>>): readonly SignatureAlgorithm[] {
  const kind = kty === 'RSA' ? kty : `${kty} ${crv}`;
  return isKind(kind) ? algorithmsByKind[kind] : [];
}

function isKind(kind: string): kind is keyof typeof algorithmsByKind {
  return Object.hasOwn(algorithmsByKind, kind);
}
