import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { parseKeySet } from '../../identity/jwt/key-set.ts';
import { fixedKeys } from '../../identity/jwt/key-source.ts';
import { externalIssuer } from '../../identity/jwt/token-issuer.ts';
import { inboundFromRequest } from '../../request/inbound.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { WorkerInboundRequest } from '../platform/worker-inbound.ts';
import { AccessAuthenticator } from './access-authenticator.ts';

const team = 'https://team.example';
const { publicKey, privateKey } = await generateKeyPair('RS256');
const { keys } = await parseKeySet({
  keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' }],
});
const authenticator = new AccessAuthenticator({
  issuer: externalIssuer(team, fixedKeys(keys), {
    audiences: ['application'],
    requiredClaims: new Map(),
    mappings: {
      username: { path: ['email'], required: true, prefix: 'access:' },
      groups: { path: ['groups'], required: false, prefix: 'access:' },
      uid: undefined,
      extra: [],
    },
  }),
  logger: silentLogger,
});

function token(changes: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const exp = Math.floor(Date.now() / 1000) + 300;
  const claims = {
    exp,
    iss: team,
    aud: 'application',
    email: 'jane@example.com',
    groups: ['dev'],
    ...changes,
  };
  return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k1' }).sign(privateKey);
}

function inbound(headers: Readonly<Record<string, string>>): WorkerInboundRequest {
  return new WorkerInboundRequest(new Request('https://edge.example/api', { headers: { ...headers } }), {});
}

test('the signed token names the caller', async () => {
  const caller = await authenticator.authenticate(inbound({ 'cf-access-jwt-assertion': await token() }));
  assert.ok(caller?.kind === 'authenticated');
  assert.equal(caller.user.name, 'access:jane@example.com');
  assert.deepEqual(caller.user.groups, ['access:dev']);
  assert.equal(caller.viaVerifiedPeer, false);
});

test('a token that is wrong, of another team or for another application is refused', async () => {
  const good = await token();
  const [header = '', payload = ''] = good.split('.');
  for (const text of [
    await token({ iss: 'https://other.example' }),
    await token({ aud: 'another' }),
    await token({ exp: 1 }),
    `${header}.${payload}.AAAA`,
    `${good}, ${good}`,
    'jane@example.com',
    `${good}${'x'.repeat(70_000)}`,
  ]) {
    await assert.rejects(authenticator.authenticate(inbound({ 'cf-access-jwt-assertion': text })), {
      name: 'AuthenticationError',
    });
  }
});

test('it has no say without the token, nor about whoever brings credentials for the cluster', async () => {
  const good = await token();
  assert.equal(await authenticator.authenticate(inbound({})), undefined);
  const both = inbound({ 'cf-access-jwt-assertion': good, authorization: 'Bearer of-the-cluster' });
  assert.equal(await authenticator.authenticate(both), undefined);
  // The header of an inbound request that no Worker has made.
  const plain = inboundFromRequest(
    new Request('https://edge.example/', { headers: { 'cf-access-jwt-assertion': good } }),
  );
  assert.equal(await authenticator.authenticate(plain), undefined);
});
