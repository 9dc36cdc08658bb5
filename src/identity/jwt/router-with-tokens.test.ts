import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { testApp } from '../../../test/support/test-app.ts';
import {
  goodClaims,
  issuerUrl,
  keySetOf,
  type TokenSigner,
  testNow,
  tokenSigner,
} from '../../../test/support/token-signer.ts';
import { firstHeader, headerLines, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { JwtAuthenticator } from './jwt-authenticator.ts';
import { fixedKeys } from './key-source.ts';
import { externalIssuer } from './token-issuer.ts';

let signer: TokenSigner;
before(async () => {
  signer = await tokenSigner();
});

async function ask(token: string | undefined, headers: Readonly<Record<string, string>> = {}) {
  const { logger, lines } = recordingLogger();
  const policy = {
    audiences: ['kubernetes'],
    requiredClaims: new Map<string, string>(),
    mappings: {
      username: { path: ['sub'], prefix: 'oidc:', required: true },
      groups: { path: ['groups'], prefix: '', required: false },
      uid: undefined,
      extra: [{ key: 'example.org/tenant', value: { path: ['tenant'], required: true } }],
    },
  };
  const issuers = [externalIssuer(issuerUrl, fixedKeys(await keySetOf(signer)), policy)];
  const authenticators = [new JwtAuthenticator({ issuers, clock: () => testNow, logger })];
  const { app, transport } = await testApp({ authenticators, logger });
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await app.request('https://router.example/version', {
    headers: { ...authorization, ...headers },
  });
  const [outbound] = transport.sent;
  return { status: response.status, body: await response.text(), outbound, lines };
}

/** The lines that assert an identity, as they leave. */
function identityLines(headers: RawHeaders): string[] {
  return [...headerLines(headers)].filter(([name]) => /^x-remote/i.test(name)).map((line) => line.join(': '));
}

describe('a request with a token', () => {
  it('that was verified leaves with the identity and without the token', async () => {
    const token = await signer.sign(goodClaims({ groups: ['a'], tenant: 'one' }));
    const { status, outbound } = await ask(token, {
      'x-remote-user': 'admin',
      'x-remote-group': 'system:masters',
    });
    assert.equal(status, 200);
    assert.ok(outbound !== undefined);
    assert.equal(firstHeader(outbound.headers, 'authorization'), undefined);
    assert.deepEqual(identityLines(outbound.headers), [
      'X-Remote-User: oidc:jane',
      'X-Remote-Group: a',
      'X-Remote-Group: system:authenticated',
      'X-Remote-Extra-example.org%2Ftenant: one',
    ]);
  });

  it('that is wrong ends with 401, and neither answer nor log repeats it', async () => {
    const token = await signer.sign(goodClaims({ tenant: 'one', exp: 1 }));
    const { status, body, outbound, lines } = await ask(token);
    assert.equal(status, 401);
    assert.equal(outbound, undefined);
    const written = body + JSON.stringify(lines);
    for (const part of token.split('.')) assert.ok(!written.includes(part));
    assert.match(body, /"Unauthorized: the token is expired"/);
    assert.doesNotMatch(body, /issuer\.example/);
  });

  it('that cannot be judged here leaves as it came, with no identity beside it', async () => {
    const foreign = await signer.sign(goodClaims({ iss: 'https://other.example' }));
    for (const token of [foreign, 'opaque', undefined]) {
      const { status, outbound } = await ask(token, { 'x-remote-user': 'admin' });
      assert.equal(status, 200);
      assert.ok(outbound !== undefined);
      const sent = firstHeader(outbound.headers, 'authorization');
      assert.equal(sent, token === undefined ? undefined : `Bearer ${token}`);
      assert.deepEqual(identityLines(outbound.headers), []);
    }
  });

  it('whose claims no header line can carry ends with 401', async () => {
    const token = await signer.sign(
      goodClaims({ tenant: 'one', sub: 'jane\r\nX-Remote-Group: system:masters' }),
    );
    const { status, outbound } = await ask(token);
    assert.deepEqual([status, outbound], [401, undefined]);
  });
});
