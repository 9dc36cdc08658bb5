import assert from 'node:assert/strict';
import { privateKeys } from './certificates.ts';

/** A bearer token, in the form of a service account's; it stands in requests of these tests only. */
export const bearerToken =
  'eyJhbGciOiJSUzI1NiIsImtpZCI6InRlc3QifQ.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6ZGVmYXVsdDpib2IifQ.c2VjcmV0LXNpZ25hdHVyZS1vZi1ib2I';
/** A token without any form that a pattern could know. */
export const opaqueToken = 'opaque-token-9f4b7c1d2e';
export const basicPassword = 'hunter2-hunter2';
export const websocketToken = Buffer.from(opaqueToken).toString('base64url');
export const cookieSecret = 'session-3d1f8e7a';

/** Key material added while the suite runs, such as the key that signs snapshots. */
const moreSecrets: string[] = [];

export function keepSecret(secret: string): void {
  moreSecrets.push(secret);
}

function secrets(): string[] {
  return [
    bearerToken,
    // The signature alone would do.
    bearerToken.split('.')[2] ?? bearerToken,
    opaqueToken,
    basicPassword,
    Buffer.from(`user:${basicPassword}`).toString('base64'),
    websocketToken,
    cookieSecret,
    ...moreSecrets,
    // A line from the middle of a key: nobody logs one without logging such a line.
    ...privateKeys.map((pem) => pem.split('\n')[1] ?? pem),
  ];
}

/** @throws naming what was found; the secret itself is not repeated. */
export function assertNoSecretIn(text: string, where: string): void {
  const found = secrets().findIndex((secret) => text.includes(secret));
  assert.equal(found, -1, `${where} holds secret number ${found}`);
}
