import {
  CompactSign,
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  type JWK,
} from 'jose';
import { type SnapshotAlgorithm, snapshotAlgorithms } from './keys.ts';

/** What the sync job signs with. */
export interface SigningKey {
  /** As in the pinned key set of the receivers. */
  readonly kid: string;
  readonly alg: SnapshotAlgorithm;
  readonly privateKey: CryptoKey | JWK;
}

export interface GeneratedSigningKey {
  /** RFC 7638 thumbprint (SHA-256) of the public key. */
  readonly kid: string;
  /** Secret: for the sync job alone. */
  readonly privateJwk: JWK;
  /** To be pinned by every router: an entry of the `keys` of a JWKS file. */
  readonly publicJwk: JWK;
}

/** Makes a new key pair. Both halves carry the same `kid`, `alg` and `use`. */
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

/** Reads the private JWK that `generateSigningKey` made. @throws {TypeError} saying what is missing in it. */
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

/** Signs `payload` as a compact JWS. `typ` keeps one kind of signed thing from passing for another (RFC 8725 section 3.11). */
export function signPayload(payload: string, typ: string, key: SigningKey): Promise<string> {
  return new CompactSign(new TextEncoder().encode(payload))
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ })
    .sign(key.privateKey);
}
