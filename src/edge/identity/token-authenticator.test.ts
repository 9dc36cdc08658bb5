import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { exportSPKI, importJWK, SignJWT } from 'jose';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { inboundRequest } from '../../../test/support/routers/inbound-request.ts';
import { handmadeToken, type TokenSigner, tokenSigner } from '../../../test/support/token-signer.ts';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { AuthenticationError } from '../../identity/authenticator.ts';
import type { TokenIssuer } from '../configuration/configuration.ts';
import { WorkerInboundRequest } from '../platform/worker-inbound.ts';
import { TokenAuthenticator } from './callers.ts';
import { VerifiedTokens } from './verified-tokens.ts';

const issuer: TokenIssuer = {
  issuer: 'https://issuer.example',
  audience: 'kubernetes',
  keysUrl: new URL('https://issuer.example/keys'),
  usernameClaim: 'sub',
  groupsClaim: 'groups',
};
const signer = await tokenSigner();
const now = Math.floor(Date.now() / 1000);
const good = { iss: issuer.issuer, aud: 'kubernetes', sub: 'jane', groups: ['dev', 'a, b'], exp: now + 600 };

/** One whose issuer publishes the keys of `signers`, or fails. */
function authenticator(
  changes: Partial<TokenIssuer> = {},
  { signers = [signer] as readonly TokenSigner[], response = undefined as (() => Response) | undefined } = {},
) {
  const { logger, lines } = recordingLogger();
  const issuerUnderTest = { signers, response, fetches: 0, lines };
  const fetchKeys: typeof fetch = async () => {
    issuerUnderTest.fetches++;
    return (
      issuerUnderTest.response?.() ??
      Response.json({ keys: issuerUnderTest.signers.map(({ publicJwk }) => publicJwk) })
    );
  };
  const tokens = new TokenAuthenticator({ ...issuer, ...changes }, logger, fetchKeys);
  const ask = (headers: RawHeaders) => tokens.authenticate(inboundRequest(headers));
  return {
    issuer: issuerUnderTest,
    ask,
    bearer: (token: string) => ask(['Authorization', `Bearer ${token}`]),
    access: (token: string) =>
      tokens.authenticate(
        new WorkerInboundRequest(
          new Request('https://edge.example/api', { headers: { 'cf-access-jwt-assertion': token } }),
          {},
        ),
      ),
  };
}

const passes = async (opinion: Promise<unknown>) => assert.equal(await opinion, undefined);

describe('a token of the issuer', () => {
  it('names the user and the groups', async () => {
    const { bearer, access, issuer: published } = authenticator();
    for (const by of [bearer, access]) {
      assert.deepEqual(await by(await signer.sign(good)), {
        kind: 'authenticated',
        user: { name: 'jane', uid: '', groups: ['dev', 'a, b'], extra: new Map() },
        authenticator: 'jwt',
        viaVerifiedPeer: false,
      });
    }
    assert.equal(published.fetches, 1);
  });

  it('names the user by another claim, in one group or in none', async () => {
    const byEmail = authenticator({ usernameClaim: 'email', groupsClaim: 'team' });
    const email = 'jane@example.com';
    for (const [claims, groups] of [
      [{ email, team: 'dev' }, ['dev']],
      [{ email, email_verified: true }, []],
    ] as const) {
      const caller = await byEmail.bearer(await signer.sign({ ...good, ...claims }));
      assert.ok(caller?.kind === 'authenticated');
      assert.deepEqual([caller.user.name, caller.user.groups], [email, groups]);
    }
    const unverified = await signer.sign({ ...good, email, email_verified: false });
    await assert.rejects(byEmail.bearer(unverified), /email is not verified/);
    const { bearer } = authenticator({ groupsClaim: undefined });
    const caller = await bearer(await signer.sign(good));
    assert.deepEqual(caller?.kind === 'authenticated' && caller.user.groups, []);
  });

  it('may be half a minute late or early, and no more', async (context) => {
    // However long ago this file was loaded.
    context.mock.timers.enable({ apis: ['Date'], now: now * 1000 });
    const { bearer } = authenticator();
    for (const claims of [{ exp: now - 20 }, { nbf: now + 20 }]) {
      assert.ok(await bearer(await signer.sign({ ...good, ...claims })));
    }
    for (const claims of [{ exp: now - 60 }, { nbf: now + 60 }]) {
      await assert.rejects(bearer(await signer.sign({ ...good, ...claims })), AuthenticationError);
    }
  });
});

describe('attack: a token that is', async () => {
  const spki = await exportSPKI((await importJWK(signer.publicJwk, 'ES256')) as CryptoKey);
  const hmac = (secret: string) =>
    new SignJWT(good)
      .setProtectedHeader({ alg: 'HS256', kid: 'key-1' })
      .sign(createSecretKey(Buffer.from(secret)));
  const thief = await tokenSigner();
  const stranger = await tokenSigner('of-a-stranger');
  const [head = '', , signature = ''] = (await signer.sign(good)).split('.');
  const payload = Buffer.from(JSON.stringify({ ...good, sub: 'root' })).toString('base64url');
  const of = (claims: object) => signer.sign({ ...good, ...claims });
  const hostile: Readonly<Record<string, string>> = {
    'not signed': handmadeToken({ alg: 'none' }, good),
    'not signed, in another spelling': handmadeToken({ alg: 'nOnE', kid: 'key-1' }, good),
    'signed with the public key as a secret (PEM)': await hmac(spki),
    'signed with the public key as a secret (JWK)': await hmac(JSON.stringify(signer.publicJwk)),
    'signed with another key of that name': await thief.sign(good),
    'signed with a key that the issuer does not have': await stranger.sign(good),
    'signed with a key that it brings along': await stranger.sign(good, { jwk: stranger.publicJwk }),
    'signed under a rule that is not known': handmadeToken(
      { alg: 'ES256', kid: 'key-1', crit: ['x'], x: 1 },
      good,
      signature,
    ),
    altered: `${head}.${payload}.${signature}`,
    'for somebody else': await of({ aud: 'other' }),
    'for nobody': await of({ aud: undefined }),
    expired: await of({ exp: now - 3600 }),
    'without an end': await of({ exp: undefined }),
    'not valid yet': await of({ nbf: now + 3600 }),
    'of nobody': await of({ sub: undefined }),
    'of an empty name': await of({ sub: '' }),
    'of a name that is no text': await of({ sub: ['jane'] }),
    'of a user of Kubernetes itself': await of({ sub: 'system:admin' }),
    'of a group of Kubernetes itself': await of({ groups: ['dev', 'system:masters'] }),
    'of a single group of Kubernetes itself': await of({ groups: 'system:masters' }),
    'of groups that are no text': await of({ groups: [{ name: 'dev' }] }),
  };
  for (const [what, token] of Object.entries(hostile)) {
    it(`${what} is refused, and nothing of it is repeated`, async () => {
      const { bearer, access, issuer: published } = authenticator();
      for (const by of [bearer, access]) {
        await assert.rejects(by(token), (error) => {
          assert.ok(error instanceof AuthenticationError, String(error));
          const said = `${error.message} ${String(error.cause)} ${JSON.stringify(published.lines)}`;
          assert.doesNotMatch(said, /eyJ|jane|root|other/);
          return true;
        });
      }
    });
  }

  it('of another issuer passes through, and is refused from Access', async () => {
    const { bearer, access, issuer: published } = authenticator();
    for (const token of [
      await of({ iss: 'https://other.example' }),
      await of({ iss: undefined }),
      'opaque',
    ]) {
      await passes(bearer(token));
      await assert.rejects(access(token), AuthenticationError);
    }
    await assert.rejects(access(`${await of({})}, ${await of({})}`), AuthenticationError);
    assert.ok(published.fetches <= 1);
  });

  it('longer than any real one is not even looked at', async () => {
    const { bearer, access, issuer: published } = authenticator();
    const long = await of({ groups: Array.from({ length: 10_000 }, (_, index) => `group-${index}`) });
    await passes(bearer(long));
    await assert.rejects(access(long), /too long/);
    assert.equal(published.fetches, 0);
  });
});

describe('who speaks', () => {
  it('is for the API server to say where there are two credentials, and nobody where there is none', async () => {
    const { ask, issuer: published } = authenticator();
    const token = await signer.sign(good);
    for (const headers of [
      [],
      ['Authorization', `Basic ${token}`],
      ['Authorization', `Bearer ${token}`, 'Authorization', `Bearer ${token}`],
      ['Authorization', `Bearer ${token}, Bearer ${token}`],
    ]) {
      await passes(ask(headers));
    }
    assert.equal(published.fetches, 0);
  });

  it('may say so in a WebSocket subprotocol', async () => {
    const { ask } = authenticator();
    const encoded = Buffer.from(await signer.sign(good)).toString('base64url');
    const headers = [
      ...['Connection', 'Upgrade', 'Upgrade', 'websocket'],
      ...['Sec-WebSocket-Protocol', `v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.${encoded}`],
    ];
    assert.equal((await ask(headers))?.kind, 'authenticated');
    await passes(ask([...headers, 'Authorization', 'Bearer other']));
  });
});

describe('the keys of the issuer', () => {
  const failures: Readonly<Record<string, () => Response>> = {
    'cannot be reached': () => {
      throw new TypeError('fetch failed');
    },
    'are not there': () => new Response('', { status: 404 }),
    'lead elsewhere': () =>
      new Response(null, { status: 302, headers: { location: 'https://evil.example' } }),
    'are none': () => Response.json({ keys: 'none' }),
    'are endless': () => new Response(`{"keys":[],"x":"${'x'.repeat(1_000_000)}"}`),
  };
  for (const [what, response] of Object.entries(failures)) {
    it(`${what}: bearer tokens pass through, those of Access are refused, and nobody asks again at once`, async () => {
      const { bearer, access, issuer: published } = authenticator({}, { response });
      for (let request = 0; request < 20; request++) await passes(bearer(await signer.sign(good)));
      await assert.rejects(access(await signer.sign(good)), /cannot be verified now/);
      assert.equal(published.fetches, 1);
      assert.equal(published.lines.length, 1);
    });
  }

  /** A clock of the test; jose and the authenticator go by two. */
  function clock(context: TestContext) {
    let at = performance.now();
    context.mock.method(performance, 'now', () => at);
    context.mock.timers.enable({ apis: ['Date'], now: Date.now() });
    return (milliseconds: number) => {
      at += milliseconds;
      context.mock.timers.tick(milliseconds);
    };
  }

  it('are fetched for a new one, once in half a minute', async (context) => {
    const pass = clock(context);
    const { bearer, issuer: published } = authenticator();
    const next = await tokenSigner('key-2');
    await bearer(await signer.sign(good));
    published.signers = [signer, next];
    for (let request = 0; request < 20; request++) {
      await assert.rejects(bearer(await next.sign(good)), /a key that its issuer does not have/);
    }
    assert.equal(published.fetches, 1);
    pass(31_000);
    assert.ok(await bearer(await next.sign(good)));
    assert.equal(published.fetches, 2);
  });

  it('stay in use while the issuer is down, and one that it has dropped does not once it is back', async (context) => {
    const pass = clock(context);
    const { bearer, issuer: published } = authenticator();
    const token = await signer.sign({ ...good, exp: now + 86_400 });
    await bearer(token);
    published.response = () => new Response('', { status: 503 });
    for (let minutes = 0; minutes < 60; minutes += 5) {
      pass(300_000);
      assert.ok(await bearer(token));
    }
    published.response = undefined;
    published.signers = [await tokenSigner('key-2')];
    pass(660_000);
    await assert.rejects(bearer(token), AuthenticationError);
  });
});

describe('a token that was verified', () => {
  it('is believed until it expires without its signature being verified again, and not after', async (context) => {
    context.mock.timers.enable({ apis: ['Date'], now: now * 1000 });
    const verify = context.mock.method(crypto.subtle, 'verify');
    const { bearer } = authenticator();
    const token = await signer.sign({ ...good, exp: now + 60 });
    const caller = await bearer(token);
    assert.equal(await bearer(token), caller);
    assert.equal(verify.mock.callCount(), 1);
    // Another one is another one, whatever it has in common.
    await assert.rejects(bearer(`${token.slice(0, -8)}AAAAAAAA`), AuthenticationError);
    context.mock.timers.setTime((now + 120) * 1000);
    await assert.rejects(bearer(token), /has expired/);
  });

  it('is verified again when the keys may have changed; of many and long ones not all are remembered', () => {
    const verified = new VerifiedTokens();
    const caller = { kind: 'passthrough' } as const;
    const times = { expires: 10_000, now: 0 };
    verified.add('a', 'token', caller, times);
    assert.equal(verified.get('a', 599_999), caller);
    assert.equal(verified.get('a', 600_000), undefined);
    verified.add('first', 'token', caller, times);
    for (let count = 0; count < 500; count++) verified.add(String(count), 'token', caller, times);
    assert.equal(verified.get('first', 0), undefined);
    assert.equal(verified.get('499', 0), caller);
    verified.add('long', 'x'.repeat(9_000), caller, times);
    assert.equal(verified.get('long', 0), undefined);
  });
});
