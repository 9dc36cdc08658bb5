import assert from 'node:assert/strict';
import { CompactSign, importJWK, type JWK } from 'jose';
import { peerAssertionType } from '../../src/identity/assertion/assertion-claims.ts';
import { type AssertionKeySet, parseAssertionKeys } from '../../src/identity/assertion/assertion-keys.ts';
import type { AssertionRequest } from '../../src/identity/assertion/assertion-signer.ts';
import type { UserInfo } from '../../src/request/user-info.ts';
import type { SnapshotAlgorithm } from '../../src/snapshot/signing/keys.ts';
import {
  type GeneratedSigningKey,
  generateSigningKey,
  type SigningKey,
  signingKeyOf,
} from '../../src/snapshot/signing/seal.ts';

/** A key pair that may speak for one issuer. */
export interface Speaker extends GeneratedSigningKey {
  readonly issuer: string;
  readonly key: SigningKey;
}

export async function speaker(issuer: string, alg: SnapshotAlgorithm = 'EdDSA'): Promise<Speaker> {
  const generated = await generateSigningKey(alg);
  return { ...generated, issuer, key: signingKeyOf(generated.privateJwk) };
}

/** The file that pins what these speak for. */
export function assertionKeysFile(speakers: readonly Speaker[]): string {
  return JSON.stringify({ keys: speakers.map(({ publicJwk, issuer }) => ({ ...publicJwk, issuer })) });
}

export async function pinned(...speakers: readonly Speaker[]): Promise<AssertionKeySet> {
  const result = await parseAssertionKeys(assertionKeysFile(speakers));
  assert.ok(result.ok, JSON.stringify(result));
  return result.keys;
}

/** Unix milliseconds at which the assertions of the tests are made. */
export const signedAt = Date.UTC(2026, 0, 31, 12);
const seconds = signedAt / 1000;

export const jane: UserInfo = {
  name: 'jane@example.com',
  uid: '42',
  groups: ['developers', 'system:authenticated'],
  extra: new Map([['example.org/floor', ['3', '4']]]),
};

/** A request of Jane's to the server `cp-b`. */
export const janesRequest: AssertionRequest = {
  user: jane,
  destinationId: 'cp-b',
  method: 'GET',
  target: '/apis/batch/v1/namespaces/default/jobs?limit=500',
  rerouted: true,
};

/** The claims for it, with some changed; `undefined` leaves one out. */
export function claims(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    iss: 'cp-a',
    aud: 'cp-b',
    iat: seconds,
    nbf: seconds,
    exp: seconds + 30,
    jti: 'AAAAAAAAAAAAAAAAAAAAAA',
    method: janesRequest.method,
    path: janesRequest.target,
    rerouted: true,
    user: { name: jane.name, uid: jane.uid, groups: jane.groups, extra: Object.fromEntries(jane.extra) },
    ...changes,
  };
}

/** Signs whatever it is given, as an attacker who holds the key could. */
export async function signClaims(
  payload: unknown,
  { kid, privateJwk, key }: Speaker,
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  return new CompactSign(new TextEncoder().encode(text))
    .setProtectedHeader({ alg: key.alg, kid, typ: peerAssertionType, ...header })
    .sign(await importJWK(privateJwk as JWK, key.alg));
}
