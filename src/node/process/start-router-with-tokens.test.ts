import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createAuthority } from '../../../test/support/certificates.ts';
import { oidcProvider } from '../../../test/support/oidc-provider.ts';
import { type StartedRouter, startRouterWithFiles } from '../../../test/support/started-router.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { askOverHttp1, openHttp1, readUntil } from '../../../test/support/tls-client.ts';
import { type TokenSigner, tokenSigner } from '../../../test/support/token-signer.ts';
import { firstHeader } from '../../apimachinery/raw-headers.ts';

interface RouterWithIssuer {
  readonly started: StartedRouter;
  readonly signer: TokenSigner;
  /** Claims with which nothing is wrong. */
  readonly claims: Readonly<Record<string, unknown>>;
  ask(...lines: readonly string[]): ReturnType<typeof askOverHttp1>;
}

/** A router as `serve` starts it, with an OpenID Connect provider of its own authority. */
async function startWithIssuer(context: TestContext): Promise<RouterWithIssuer> {
  const authority = await createAuthority('issuer-ca');
  const signer = await tokenSigner();
  const { issuer } = await oidcProvider(context, authority, signer);
  const folder = await temporaryDirectory(context);
  const file = join(folder, 'authentication.json');
  const configuration = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: [
      {
        issuer: { url: issuer, audiences: ['kubernetes'], certificateAuthority: authority.certificate },
        claimMappings: {
          username: { claim: 'sub', prefix: 'oidc:' },
          groups: { claim: 'groups', prefix: 'oidc:' },
        },
      },
    ],
  };
  await writeFile(file, JSON.stringify(configuration));
  const started = await startRouterWithFiles(context, {
    flags: { 'authentication-config': [file] },
  });
  const client = { port: started.port, ca: started.authorities.cluster.certificate };
  return {
    started,
    signer,
    claims: { iss: issuer, aud: 'kubernetes', sub: 'jane', exp: Math.floor(Date.now() / 1000) + 3600 },
    ask: async (...lines) => askOverHttp1(await openHttp1(context, client), '/api/v1/pods', lines),
  };
}

describe('a router with --authentication-config', () => {
  it('tells the API server who calls over mTLS, and sends no token', async (context) => {
    const { started, signer, claims, ask } = await startWithIssuer(context);
    const token = await signer.sign({ ...claims, groups: ['developers'] });
    assert.equal((await ask(`Authorization: Bearer ${token}`)).status, 200);
    const [request] = started.apiServer.requests;
    assert.ok(request !== undefined);
    assert.equal(request.clientName, 'front-proxy-client');
    assert.equal(firstHeader(request.headers, 'x-remote-user'), 'oidc:jane');
    assert.equal(firstHeader(request.headers, 'x-remote-group'), 'oidc:developers');
    assert.equal(firstHeader(request.headers, 'authorization'), undefined);
  });

  it('refuses a token that is wrong, and two at once', async (context) => {
    const { started, signer, claims, ask } = await startWithIssuer(context);
    const expired = await signer.sign({ ...claims, exp: 1 });
    const good = await signer.sign(claims);
    assert.equal((await ask(`Authorization: Bearer ${expired}`)).status, 401);
    assert.equal((await ask(`Authorization: Bearer ${good}`, `Authorization: Bearer ${good}`)).status, 401);
    assert.deepEqual(started.apiServer.requests, []);
    const written = JSON.stringify(started.logs);
    assert.match(written, /is expired/);
    for (const token of [expired, good]) assert.ok(!written.includes(token.split('.')[2] ?? 'none'));
  });

  it('lets other credentials through, on a connection that asserts nothing', async (context) => {
    const { started, signer, claims, ask } = await startWithIssuer(context);
    const foreign = await signer.sign({ ...claims, iss: 'https://kubernetes.default.svc' });
    for (const token of [foreign, 'opaque']) {
      assert.equal((await ask(`Authorization: Bearer ${token}`, 'X-Remote-User: admin')).status, 200);
      const request = started.apiServer.requests.at(-1);
      assert.ok(request !== undefined);
      assert.equal(request.clientName, undefined);
      assert.equal(firstHeader(request.headers, 'authorization'), `Bearer ${token}`);
      assert.equal(firstHeader(request.headers, 'x-remote-user'), undefined);
    }
  });

  it('verifies the token of an upgrade, and takes it out of the subprotocols', async (context) => {
    const { started, signer, claims } = await startWithIssuer(context);
    const token = Buffer.from(await signer.sign(claims)).toString('base64url');
    const client = { port: started.port, ca: started.authorities.cluster.certificate };
    const socket = await openHttp1(context, client);
    socket.write(
      [
        'GET /api/v1/namespaces/default/pods/a/exec?command=sh HTTP/1.1',
        'Host: localhost',
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        `Sec-WebSocket-Protocol: v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.${token}`,
        '',
        '',
      ].join('\r\n'),
    );
    assert.match(await readUntil(socket, '\r\n\r\n'), /^HTTP\/1\.1 101 /);
    const [request] = started.apiServer.requests;
    assert.ok(request !== undefined);
    assert.equal(firstHeader(request.headers, 'x-remote-user'), 'oidc:jane');
    assert.equal(firstHeader(request.headers, 'sec-websocket-protocol'), 'v5.channel.k8s.io');
  });
});
