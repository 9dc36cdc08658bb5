import {
  CompactSign,
  type CryptoKey,
  calculateJwkThumbprint,
  compactVerify,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose';
import { describeIssues, isJsonObject, parseJsonText } from '../../runtime/validation.ts';
import { snapshotLimits } from '../format/limits.ts';
import { headText, setsText } from '../format/packed-snapshot.ts';
import { parseSnapshot } from '../format/parse-snapshot.ts';
import type { Snapshot } from '../format/schema.ts';
import { invalid, SnapshotError } from '../format/snapshot-error.ts';
import { type PinnedKeySet, parseSnapshotKeys, type SnapshotAlgorithm, snapshotAlgorithms } from './keys.ts';
import { contentDigest, sealedSnapshotType } from './open-sealed.ts';

/**
 * Seals a snapshot: a compact JWS of it without its sets, and the sets on a line of their own behind it. What is signed names
 * the sets by the hashes of their content, so a receiver takes no other ones, and one that has them need not be sent them
 * again. The same snapshot sealed twice has the same content, and a receiver that holds it calls it unchanged.
 *
 * @throws {SnapshotError} `Invalid` or `TooLarge`, for what no receiver would take.
 *
 * @example
 * ```ts
 * const { privateJwk } = await generateSigningKey('EdDSA');
 * const sealed = await sealSnapshot(snapshot, signingKeyOf(privateJwk));
 * console.log(sealed.split('\n').length); // 2
 * ```
 */
export async function sealSnapshot(given: Snapshot, key: SigningKey): Promise<string> {
  const parsed = await parseSnapshot(given);
  if (!parsed.ok) throw invalid(parsed.issues);
  const { jws, sets } = await sealChecked(parsed.snapshot, key);
  return `${jws}\n${sets}`;
}

/**
 * Seals a snapshot that `parseSnapshot` has returned.
 *
 * @returns the two lines, and the digest that a receiver knows it by (`OpenedSnapshot.digest`)
 * @throws {SnapshotError} `TooLarge`
 */
export async function sealChecked(snapshot: Snapshot, key: SigningKey) {
  const head = await headText(snapshot);
  const sets = await setsText(snapshot.servedSets);
  // Both are ASCII.
  if (Math.max(head.length, sets.length) > snapshotLimits.bytes) {
    throw new SnapshotError('TooLarge', `The snapshot is larger than ${snapshotLimits.bytes} bytes.`);
  }
  return { jws: await signPayload(head, sealedSnapshotType, key), sets, digest: await contentDigest(head) };
}

/** A private key: the sync job signs snapshots with it, an edge router assertions. */
export interface SigningKey {
  readonly kid: string;
  readonly alg: SnapshotAlgorithm;
  readonly privateKey: CryptoKey | JWK;
}

export interface GeneratedSigningKey {
  /** RFC 7638 thumbprint (SHA-256) of the public key. */
  readonly kid: string;
  /** Secret: for the one that signs. */
  readonly privateJwk: JWK;
  /** To be pinned by everyone else: an entry of the `keys` of a JWKS file. */
  readonly publicJwk: JWK;
}

/**
 * Makes a new key pair. Both halves carry the same `kid`, `alg` and `use`.
 *
 * @example
 * ```ts
 * const { kid, publicJwk } = await generateSigningKey('EdDSA');
 * console.log(publicJwk.kid === kid, publicJwk.alg, 'd' in publicJwk); // true EdDSA false
 * ```
 */
export async function generateSigningKey(alg: SnapshotAlgorithm): Promise<GeneratedSigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const publicPart = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(publicPart);
  const described = { kid, alg, use: 'sig' };
  return {
    kid,
    privateJwk: { ...(await exportJWK(privateKey)), ...described },
    publicJwk: { ...publicPart, ...described },
  };
}

/**
 * Reads the private JWK that `generateSigningKey` made. @throws {TypeError} saying what is missing in it.
 *
 * @example
 * ```ts
 * const { kid, privateJwk } = await generateSigningKey('EdDSA');
 * console.log(signingKeyOf(privateJwk).kid === kid); // true
 * ```
 */
export function signingKeyOf(privateJwk: JWK): SigningKey {
  const { kid, d } = privateJwk;
  const alg = snapshotAlgorithms.find((name) => name === privateJwk.alg);
  if (alg === undefined) {
    throw new TypeError(`The signing key must have one of the algs ${snapshotAlgorithms.join(', ')}.`);
  }
  if (kid === undefined || kid === '') throw new TypeError('The signing key must have a kid.');
  if (d === undefined) {
    throw new TypeError('The signing key must be a private key; this is the public half of one.');
  }
  return { kid, alg, privateKey: privateJwk };
}

/** The public half of a signing key, to verify what it has signed. @throws {TypeError} saying what is wrong with it */
export async function publicHalfOf(privateJwk: JWK): Promise<PinnedKeySet> {
  const { kid, alg } = signingKeyOf(privateJwk);
  const { kty, crv, x, y } = privateJwk;
  const publicJwk = { kty, crv, x, ...(alg === 'ES256' ? { y } : {}), kid, alg, use: 'sig' } as JWK;
  const pinned = await parseSnapshotKeys(JSON.stringify({ keys: [publicJwk] }));
  if (pinned.ok) return pinned.keys;
  throw new TypeError(`The signing key is unusable: ${describeIssues(pinned.issues)}`);
}

/** Signs `payload` as a compact JWS. `typ` keeps one kind of signed thing from passing for another (RFC 8725 section 3.11). */
export function signPayload(payload: string | Uint8Array, typ: string, key: SigningKey): Promise<string> {
  return new CompactSign(typeof payload === 'string' ? new TextEncoder().encode(payload) : payload)
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ })
    .sign(key.privateKey);
}

/**
 * Reads a private JWK from a file's text and signs with it once, so that a key that cannot sign, or whose two
 * halves are not each other's, is found before it is needed.
 * @throws {TypeError} saying what is wrong; never quoting the text, which is secret.
 *
 * @example
 * ```ts
 * const { privateJwk } = await generateSigningKey('EdDSA');
 * const { kid } = await loadSigningKey(JSON.stringify(privateJwk));
 * console.log(kid === privateJwk.kid); // true
 * ```
 */
export async function loadSigningKey(text: string): Promise<SigningKey> {
  const parsed = parseJsonText(text, 4);
  if (!parsed.ok || !isJsonObject(parsed.value))
    throw new TypeError('The signing key must be a JWK, as JSON.');
  const privateJwk = parsed.value as JWK;
  const { kid, alg } = signingKeyOf(privateJwk);
  const pinned = await publicHalfOf(privateJwk);
  try {
    const privateKey = (await importJWK(privateJwk, alg)) as CryptoKey;
    const key: SigningKey = { kid, alg, privateKey };
    const publicKey = pinned.get(kid)?.publicKey;
    if (publicKey !== undefined) await compactVerify(await signPayload('', 'test', key), publicKey);
    return key;
  } catch (cause) {
    throw new TypeError('The signing key is unusable: its private half does not fit its public half.', {
      cause,
    });
  }
}
