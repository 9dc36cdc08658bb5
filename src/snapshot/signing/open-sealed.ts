import * as v from 'valibot';
import { decodeBase64url, sha256Digest } from '../../runtime/bytes.ts';
import { isJsonObject } from '../../runtime/validation.ts';
import { sealedSnapshotLimit } from '../format/limits.ts';
import { parseSnapshotText } from '../format/parse-snapshot.ts';
import { type Snapshot, timestamp } from '../format/schema.ts';
import { invalid, SnapshotError } from '../format/snapshot-error.ts';
import type { PinnedKey, PinnedKeySet } from './keys.ts';

export interface OpenedSnapshot {
  readonly snapshot: Snapshot;
  /** `sha256:<hex>` of what is signed, but for the time of making: a renewal is the same content, made later. */
  readonly digest: string;
  readonly kid: string;
  /** The JWS alone. */
  readonly jws: string;
}

/**
 * Opens a sealed snapshot: size, signature, then content, each only if the one before holds.
 *
 * Whether it is newer than what is held, and whether its addresses may be dialled, is for `SnapshotReceiver`.
 *
 * @param previous one that was opened: its sets need not be there again
 * @param checked sets that have been checked otherwise, which need not be there either
 * @throws {SnapshotError} `Unsigned`, `UnknownKey`, `BadSignature`, `TooLarge`, `Invalid`.
 *
 * @example
 * ```ts
 * const { privateJwk, publicJwk } = await generateSigningKey('EdDSA');
 * const sealed = await sealSnapshot(snapshot, signingKeyOf(privateJwk));
 *
 * const pinned = await parseSnapshotKeys(JSON.stringify({ keys: [publicJwk] }));
 * if (pinned.ok) {
 *   const opened = await openSnapshot(sealed, pinned.keys);
 *   console.log(opened.kid === publicJwk.kid); // true
 * }
 * ```
 */
export async function openSnapshot(
  sealed: string,
  keys: PinnedKeySet,
  previous?: Pick<OpenedSnapshot, 'snapshot' | 'digest'>,
  checked?: Snapshot['servedSets'],
): Promise<OpenedSnapshot> {
  requireLength(sealed, snapshotRules);
  const { jws, sets } = partsOfSealed(sealed);
  const { text, kid } = await verifySnapshot(jws, keys);
  const digest = await contentDigest(text);
  const signed = { digest, kid, jws };
  const createdAt = timeOfMaking.exec(text)?.[1];
  if (previous?.digest === digest && v.is(timestamp, createdAt)) {
    const { snapshot } = previous;
    return { ...signed, snapshot: { ...snapshot, metadata: { ...snapshot.metadata, createdAt } } };
  }
  const servedSets = { ...checked, ...previous?.snapshot.servedSets };
  const parsed = await parseSnapshotText(text, sets, { servedSets });
  if (!parsed.ok) throw invalid(parsed.issues);
  return { ...signed, snapshot: parsed.snapshot };
}

/** The signature alone, of the JWS of a sealed snapshot. @throws {SnapshotError} as `openSnapshot` */
export function verifySnapshot(jws: string, keys: PinnedKeySet): Promise<VerifiedPayload> {
  return verifySealed(jws, keys, snapshotRules);
}

/** The JWS of a sealed snapshot, and the sets on the line behind it. */
export function partsOfSealed(sealed: string): { readonly jws: string; readonly sets: string | undefined } {
  const end = sealed.indexOf('\n');
  return end === -1
    ? { jws: sealed, sets: undefined }
    : { jws: sealed.slice(0, end), sets: sealed.slice(end + 1) };
}

/** In canonical JSON, as `sealSnapshot` writes it. Inside of a text its quotes would be escaped, and nothing else has the key. */
const timeOfMaking = /"createdAt":"([^"]*)"/;

/** `OpenedSnapshot.digest` of what is signed. */
export function contentDigest(text: string): Promise<string> {
  return sha256Digest(new TextEncoder().encode(text.replace(timeOfMaking, '')));
}

/** Pinned as `typ`: nothing else that the same key may have signed passes for a snapshot. */
export const sealedSnapshotType = 'mixed-version-proxy-snapshot+jws';

const snapshotRules = { subject: 'The snapshot', typ: sealedSnapshotType, limit: sealedSnapshotLimit };

interface SealRules {
  /** Name of the sealed thing, for messages: `The snapshot`. */
  readonly subject: string;
  readonly typ: string;
  /** Characters. */
  readonly limit: number;
}

export interface VerifiedPayload {
  readonly text: string;
  readonly kid: string;
}

interface ProtectedHeader {
  readonly alg?: unknown;
  readonly kid?: unknown;
  readonly typ?: unknown;
}

/** An alg, a kid, a typ: a header of this length is no header of ours. */
export const longestHeader = 2_048;

/**
 * Checks a compact JWS (RFC 7515 section 7.1) before anything is read from it: size, then form, then that
 * it is signed by a pinned key in that key's own algorithm. Nothing in the header ever chooses a key or an
 * algorithm (RFC 8725 sections 3.1 and 3.9): `jwk`, `jku`, `x5c` and the like are not looked at.
 *
 * @throws {SnapshotError} `TooLarge`, `Unsigned`, `UnknownKey`, `BadSignature`, `Invalid` (payload is no UTF-8).
 */
export async function verifySealed(
  jws: string,
  keys: PinnedKeySet,
  rules: SealRules,
): Promise<VerifiedPayload> {
  const { subject } = rules;
  requireLength(jws, rules);
  if (!isCompactJws(jws)) throw noCompactJws(subject);
  const key = signerOf(jws, keys, rules);
  const payload = await verifiedBytes(jws, key, subject);
  return { text: textOf(payload, subject), kid: key.kid };
}

function noCompactJws(subject: string): SnapshotError {
  return new SnapshotError(
    'Unsigned',
    `${subject} is not signed: send it as a compact JWS, header.payload.signature.`,
  );
}

/**
 * The pinned key that the protected header of a JWS names: what names none need not be read.
 * @param beginning of the JWS, with its whole header or more than `longestHeader` characters
 * @throws {SnapshotError} `Unsigned`, `UnknownKey`, `BadSignature`
 */
export function signerOf(
  beginning: string,
  keys: PinnedKeySet,
  { subject, typ }: SealRules = snapshotRules,
): PinnedKey {
  const header = protectedHeader(beginning);
  if (header === undefined) throw noCompactJws(subject);
  const { alg, kid, typ: actualTyp } = header;
  if (typeof alg !== 'string' || alg.toLowerCase() === 'none') {
    throw new SnapshotError('Unsigned', `${subject} is not signed: it names no algorithm.`);
  }
  // RFC 7515 section 4.1.11: a recipient must refuse critical extensions that it does not support. None is supported.
  if (Object.hasOwn(header, 'crit')) {
    throw new SnapshotError('BadSignature', `${subject} has a crit header; no extension is understood here.`);
  }
  if (actualTyp !== typ) {
    throw new SnapshotError('BadSignature', `${subject} must have the typ ${typ} in its header.`);
  }
  const key = typeof kid === 'string' ? keys.get(kid) : undefined;
  if (key === undefined) {
    throw new SnapshotError(
      'UnknownKey',
      `${subject} is signed with a key that is not pinned here; pin its public half.`,
    );
  }
  if (alg !== key.alg) {
    throw new SnapshotError(
      'BadSignature',
      `${subject} is signed with another algorithm than its key is pinned for, ${key.alg}.`,
    );
  }
  return key;
}

function requireLength(text: string, { subject, limit }: SealRules): void {
  if (text.length <= limit) return;
  throw new SnapshotError('TooLarge', `${subject} is larger than ${limit} characters.`);
}

/** Three parts, none of them empty, by looking for dots: splitting a hostile text could make millions of parts. */
function isCompactJws(jws: string): boolean {
  const first = jws.indexOf('.');
  const second = jws.indexOf('.', first + 1);
  return second > first + 1 && second < jws.length - 1 && !jws.includes('.', second + 1);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function protectedHeader(jws: string): ProtectedHeader | undefined {
  const end = jws.indexOf('.');
  try {
    const header: unknown =
      end > longestHeader || JSON.parse(utf8.decode(decodeBase64url(jws.slice(0, end))));
    if (isJsonObject(header)) return header;
  } catch {
    // As for what is JSON and no object.
  }
  return undefined;
}

/**
 * By Web Crypto (RFC 7515 section 5.2, RFC 7518 section 3.4, RFC 8037 section 3.1): the header is judged before, and the
 * rest of jose's verification would be a tenth of what a Worker loads with its first request.
 */
async function verifiedBytes(
  jws: string,
  { alg, publicKey }: PinnedKey,
  subject: string,
): Promise<Uint8Array> {
  const algorithm = alg === 'ES256' ? { name: 'ECDSA', hash: 'SHA-256' } : { name: 'Ed25519' };
  const end = jws.lastIndexOf('.');
  try {
    const signed = new TextEncoder().encode(jws.slice(0, end));
    const signature = decodeBase64url(jws.slice(end + 1));
    if (await crypto.subtle.verify(algorithm, publicKey, signature, signed)) {
      return decodeBase64url(jws.slice(jws.indexOf('.') + 1, end));
    }
  } catch (cause) {
    throw new SnapshotError('BadSignature', `${subject} has a signature that does not hold.`, { cause });
  }
  throw new SnapshotError('BadSignature', `${subject} has a signature that does not hold.`);
}

function textOf(bytes: Uint8Array, subject: string): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new SnapshotError('Invalid', `${subject} is invalid: it is not UTF-8.`, { cause });
  }
}
