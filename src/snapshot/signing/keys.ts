import type { CryptoKey, JWK } from 'jose';
import {
  type DocumentIssue,
  describeIssueOf,
  fieldPath,
  IssueList,
  isJsonObject,
  parseJsonText,
} from '../../runtime/validation.ts';

/** EdDSA (Ed25519, RFC 8037) and ECDSA over P-256 (RFC 7518 section 3.4): both are in every runtime's Web Crypto. */
export const snapshotAlgorithms = ['EdDSA', 'ES256'] as const;
export type SnapshotAlgorithm = (typeof snapshotAlgorithms)[number];

/** A trusted public key. The algorithm is the key's own; the header's is never used. */
export interface PinnedKey {
  readonly kid: string;
  readonly alg: SnapshotAlgorithm;
  readonly publicKey: CryptoKey;
}

/** By `kid`. During a rotation the old and the new key are both in it. */
export type PinnedKeySet = ReadonlyMap<string, PinnedKey>;

export type ParseKeysResult<Key extends PinnedKey = PinnedKey> =
  | { readonly ok: true; readonly keys: ReadonlyMap<string, Key> }
  | { readonly ok: false; readonly issues: readonly DocumentIssue[] };

/** Reads further members of a key's entry. After an error, which it reports, there is no key. */
type CompleteKey<Key extends PinnedKey> = (
  key: PinnedKey,
  jwk: Readonly<Record<string, unknown>>,
  path: string,
  issues: IssueList,
) => Key | undefined;

/** Each pinned key is one more party that can re-route the cluster; a rotation needs two. */
const maximumKeys = 32;
const maximumKeyFileLength = 64 * 1024;

// RFC 7518 section 6: `d` and the RSA factors are private, `k` is a shared secret.
const privateMembers: readonly string[] = ['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'priv'];

/**
 * Reads the public keys that snapshots may be signed with.
 *
 * @example
 * ```ts
 * const { publicJwk } = await generateSigningKey('EdDSA');
 * const result = await parseSnapshotKeys(JSON.stringify({ keys: [publicJwk] }));
 * console.log(result.ok && result.keys.size); // 1
 * ```
 */
export function parseSnapshotKeys(text: string): Promise<ParseKeysResult> {
  return parsePinnedKeys(text, (key) => key);
}

/**
 * Reads a JWKS file (RFC 7517 section 5) of public keys. Every key must be usable: one that is left out
 * silently would be missed on the day of a rotation. Every error is reported with its path.
 */
export async function parsePinnedKeys<Key extends PinnedKey>(
  text: string,
  complete: CompleteKey<Key>,
): Promise<ParseKeysResult<Key>> {
  const issues = new IssueList();
  const keys = new Map<string, Key>();
  for (const [index, jwk] of jwksEntries(text, issues).entries()) {
    const path = fieldPath('keys', index);
    if (!isJsonObject(jwk)) {
      issues.add(path, 'must be an object');
      continue;
    }
    const pinned = await readPublicKey(jwk, path, issues);
    const key = pinned && complete(pinned, jwk, path, issues);
    if (key === undefined) continue;
    if (keys.has(key.kid)) issues.add(`${path}.kid`, 'must be unique among the keys');
    keys.set(key.kid, key);
  }
  return issues.count === 0 ? { ok: true, keys } : { ok: false, issues: issues.toArray() };
}

function jwksEntries(text: string, issues: IssueList): readonly unknown[] {
  if (text.length > maximumKeyFileLength) {
    issues.add('', `is longer than ${maximumKeyFileLength} characters`);
    return [];
  }
  const parsed = parseJsonText(text, 8);
  if (!parsed.ok) {
    issues.add(parsed.issue.path, parsed.issue.message);
    return [];
  }
  const keys: unknown = isJsonObject(parsed.value) ? parsed.value['keys'] : undefined;
  if (!Array.isArray(keys)) {
    issues.add('', 'must be a JSON Web Key Set: an object with an array under "keys"');
    return [];
  }
  if (keys.length === 0 || keys.length > maximumKeys) {
    issues.add('keys', `must hold between 1 and ${maximumKeys} keys, not ${keys.length}`);
    return [];
  }
  return keys;
}

async function readPublicKey(
  jwk: Readonly<Record<string, unknown>>,
  path: string,
  issues: IssueList,
): Promise<PinnedKey | undefined> {
  const issuesBefore = issues.count;
  for (const member of privateMembers) {
    if (Object.hasOwn(jwk, member)) {
      issues.add(
        fieldPath(path, member),
        'must not be here: this is a private or secret key; put its public half here',
      );
    }
  }
  const kid = jwk['kid'];
  if (typeof kid !== 'string' || !/^[\x21-\x7e]{1,256}$/.test(kid)) {
    issues.add(`${path}.kid`, 'must be 1 to 256 printable ASCII characters');
  }
  const alg = algorithmOf(jwk);
  if (alg === undefined) {
    issues.add(`${path}.kty`, 'must be OKP with crv Ed25519, or EC with crv P-256');
  } else if (jwk['alg'] !== undefined && jwk['alg'] !== alg) {
    issues.add(`${path}.alg`, `must be ${alg}, which is what this kind of key is for`);
  }
  if (jwk['use'] !== undefined && jwk['use'] !== 'sig') issues.add(`${path}.use`, 'must be sig');
  const operations = jwk['key_ops'];
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    issues.add(`${path}.key_ops`, 'must include verify');
  }
  if (issues.count > issuesBefore || typeof kid !== 'string' || alg === undefined) return undefined;
  const publicKey = await importPublicKey(jwk, alg);
  if (publicKey !== undefined) return { kid, alg, publicKey };
  issues.add(path, `must be a valid public key: its coordinates cannot be read as ${alg}`);
  return undefined;
}

function algorithmOf(jwk: Readonly<Record<string, unknown>>): SnapshotAlgorithm | undefined {
  if (jwk['kty'] === 'OKP' && jwk['crv'] === 'Ed25519') return 'EdDSA';
  return jwk['kty'] === 'EC' && jwk['crv'] === 'P-256' ? 'ES256' : undefined;
}

async function importPublicKey(
  jwk: Readonly<Record<string, unknown>>,
  alg: SnapshotAlgorithm,
): Promise<CryptoKey | undefined> {
  const { kty, crv, x, y } = jwk;
  // Only what makes up the key: `ext` and the like are the file's business, not the runtime's.
  const bare = { kty, crv, x, ...(alg === 'ES256' && { y }) } as JWK;
  const algorithm = alg === 'ES256' ? { name: 'ECDSA', namedCurve: 'P-256' } : { name: 'Ed25519' };
  try {
    return await crypto.subtle.importKey('jwk', bare, algorithm, false, ['verify']);
  } catch {
    // The runtime's message is left out: the caller names the key.
    return undefined;
  }
}

/** Describes an error in a key file. The file's content is left out: it may be a private key given by mistake. */
export function describeKeysIssue(file: string, issue: DocumentIssue): string {
  const message = issue.message.replace(/^(is not JSON)\b.*$/s, '$1');
  return describeIssueOf(file, { path: issue.path, message });
}
