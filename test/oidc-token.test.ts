import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createRemoteJWKSet, customFetch, jwtVerify } from 'jose';
import { allHeaders } from '../src/apimachinery/raw-headers.ts';
import { signPayload } from '../src/snapshot/signing/signing-key.ts';
import { identityLines, startTokenRouter } from './support/asserting-routers.ts';
import { assertionKeysFile, speaker } from './support/assertions.ts';
import { ask } from './support/security/ask.ts';
import { rawHttp1 } from './support/security/raw-http1.ts';
import { protocols, startRecordingBackend } from './support/security/recording-backend.ts';
import { keepSecret } from './support/security/secrets.ts';

const issuer = 'https://router.example/clusters/blue';
const audience = 'blue.kubernetes';
const pods = '/api/v1/namespaces/default/pods';

const current = await speaker(issuer, 'ES256');
const previous = await speaker(issuer, 'ES256');
for (const { privateJwk } of [current, previous]) keepSecret(String(privateJwk.d));

/** A router whose local API server takes its tokens, and no front-proxy pair at all. */
async function startTokenIssuer(context: TestContext, protocol = protocols[0]) {
  const backend = await startRecordingBackend(context, 'cp-a', protocol === undefined ? {} : { protocol });
  const router = await startTokenRouter(
    context,
    'cp-a',
    backend,
    {
      'local-identity': ['oidc-token'],
      'peer-identity': ['oidc-token'],
      'assertion-signing-key': ['signing-key.json'],
      'assertion-keys': ['keys.json'],
      'oidc-issuer-url': [issuer],
      'oidc-audience': [audience],
      'proxy-client-cert-file': undefined,
      'proxy-client-key-file': undefined,
    },
    {
      'signing-key.json': JSON.stringify(current.privateJwk),
      'keys.json': assertionKeysFile([current, previous]),
    },
  );
  return { backend, router };
}

/** What an API server does with a token: everything it knows comes from the issuer's documents. */
async function verifierFor(port: number) {
  const fetchFromRouter = async (url: string): Promise<Response> => {
    assert.ok(url.startsWith(`${issuer}/`), url);
    const { status, body } = await ask(port, { path: new URL(url).pathname });
    return new Response(body, { status });
  };
  const response = await fetchFromRouter(`${issuer}/.well-known/openid-configuration`);
  const configuration = (await response.json()) as { issuer: string; jwks_uri: string };
  assert.equal(configuration.issuer, issuer);
  const keys = createRemoteJWKSet(new URL(configuration.jwks_uri), { [customFetch]: fetchFromRouter });
  return (token: string) =>
    jwtVerify(token, keys, { issuer, audience, algorithms: ['ES256'], maxTokenAge: '60s' });
}

for (const protocol of protocols) {
  describe(`an API server that trusts the router as an issuer, over ${protocol}`, () => {
    it('gets a token that its own verification accepts, and that names the caller', async (context) => {
      const { backend, router } = await startTokenIssuer(context, protocol);
      const headers = ['Authorization', 'Bearer of-the-client', 'X-Remote-User', 'admin'];
      assert.equal((await ask(router.port, { protocol, client: 'alice', path: pods, headers })).status, 200);
      const received = backend.only();
      assert.equal(received.clientCertificate, undefined);
      const [[name, bearer] = [], ...others] = identityLines(received.headers);
      assert.equal(name, 'authorization');
      assert.deepEqual(others, []);
      const verify = await verifierFor(router.port);
      const { payload } = await verify(bearer?.replace(/^Bearer /, '') ?? '');
      assert.equal(payload.sub, 'alice');
      assert.deepEqual(payload['groups'], ['dev', 'system:authenticated']);
      assert.ok((payload.exp ?? 0) - (payload.iat ?? 0) <= 60);
    });
  });
}

describe('an OIDC token', () => {
  it('goes out on upgrades too', async (context) => {
    const { backend, router } = await startTokenIssuer(context);
    const client = await rawHttp1(context, router.port, 'alice');
    client.write(
      `POST ${pods}/web/exec?command=sh HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`,
    );
    await client.until((received) => received.includes('\r\n\r\n'));
    assert.match(client.received, /^HTTP\/1\.1 101 /);
    const [bearer] = allHeaders(backend.only().headers, 'authorization');
    const { payload } = await (await verifierFor(router.port))(bearer?.replace(/^Bearer /, '') ?? '');
    assert.equal(payload.sub, 'alice');
  });

  it('may be signed with either of two keys during a rotation', async (context) => {
    const { router } = await startTokenIssuer(context);
    const verify = await verifierFor(router.port);
    const now = Math.floor(Date.now() / 1000);
    const claims = JSON.stringify({ iss: issuer, aud: audience, sub: 'alice', iat: now, exp: now + 60 });
    for (const { key } of [current, previous]) await verify(await signPayload(claims, 'JWT', key));
    const stranger = await speaker(issuer, 'ES256');
    await assert.rejects(verify(await signPayload(claims, 'JWT', stranger.key)));
  });

  it('and the keys of its issuer let nobody speak for others to the router itself', async (context) => {
    const { backend, router } = await startTokenIssuer(context);
    const now = Math.floor(Date.now() / 1000);
    const claims = JSON.stringify({ iss: issuer, aud: 'cp-a', sub: 'admin', iat: now, exp: now + 60 });
    const token = await signPayload(claims, 'mixed-version-proxy-identity+jwt', previous.key);
    await ask(router.port, { path: pods, headers: ['Mixed-Version-Proxy-Identity', token] });
    assert.deepEqual(identityLines(backend.only().headers), []);
  });

  it('is not made for a caller whom the router does not know', async (context) => {
    const { backend, router } = await startTokenIssuer(context);
    await ask(router.port, { path: pods, headers: ['Authorization', 'Bearer opaque'] });
    assert.deepEqual(identityLines(backend.only().headers), [['authorization', 'Bearer opaque']]);
  });
});
