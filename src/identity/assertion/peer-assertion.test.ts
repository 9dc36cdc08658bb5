import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jane, janesRequest, pinned, signedAt, speaker } from '../../../test/support/assertions.ts';
import { inboundRequest, withCertificate } from '../../../test/support/inbound-request.ts';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { ConnectionInfo, InboundRequest } from '../../request/inbound.ts';
import { askAuthenticators } from '../authenticator.ts';
import { RequestHeaderAuthenticator } from '../request-header.ts';
import { X509Authenticator } from '../x509.ts';
import { createAssertionSigner } from './sign-assertion.ts';
import { PeerAssertionAuthenticator } from './verify-assertion.ts';

const routerA = await speaker('cp-a');
const keys = await pinned(routerA);
const signer = createAssertionSigner({ key: routerA.key, issuer: 'cp-a', clock: () => signedAt });
const sign = (): Promise<string> => signer.sign(janesRequest);

const newAuthenticator = (): PeerAssertionAuthenticator =>
  new PeerAssertionAuthenticator({ keys: () => keys, audience: 'cp-b', clock: () => signedAt });

const header = 'Mixed-Version-Proxy-Identity';
const mark = ['x-kubernetes-peer-proxied', 'true'];

const inbound = (headers: RawHeaders, connection?: ConnectionInfo): InboundRequest => ({
  ...inboundRequest([...headers, ...mark], connection),
  target: janesRequest.target,
});

test('the caller is whom the assertion names, and the word of its sender counts as a peer’s', async () => {
  assert.deepEqual(await newAuthenticator().authenticate(inbound([header, await sign()])), {
    kind: 'authenticated',
    user: jane,
    authenticator: 'peer-assertion',
    viaVerifiedPeer: true,
  });
});

test('a request without an assertion is nothing to have an opinion on', () => {
  assert.equal(newAuthenticator().authenticate(inbound(['X-Remote-User', 'admin'])), undefined);
  assert.equal(newAuthenticator().authenticate(inbound(['Mixed_Version_Proxy_Identity', 'x'])), undefined);
});

test('two assertions are refused, the same one twice and one that is empty included', async () => {
  const one = await sign();
  for (const [first, second] of [
    [one, await sign()],
    [one, one],
    [one, ''],
    ['', one],
  ] as const) {
    assert.throws(
      () => newAuthenticator().authenticate(inbound([header, first, header.toLowerCase(), second])),
      { code: 'Malformed' },
    );
  }
  // Joined into one line, as web Headers do it.
  await assert.rejects(async () => newAuthenticator().authenticate(inbound([header, `${one}, ${one}`])), {
    code: 'Malformed',
  });
});

test('X-Remote headers beside an assertion mean nothing', async () => {
  const headers = [header, await sign(), 'X-Remote-User', 'admin', 'X-Remote-Group', 'system:masters'];
  const requestHeader = new RequestHeaderAuthenticator({ allowedNames: ['front-proxy-client'] });
  const caller = await askAuthenticators(inbound(headers), [requestHeader, newAuthenticator()]);
  assert.ok(caller.kind === 'authenticated');
  assert.deepEqual(caller.user, jane);
});

test('a refused assertion ends the request, whoever else the request or its connection could speak for', async () => {
  const authenticators = [newAuthenticator(), new X509Authenticator()];
  const edge = withCertificate('client-ca', 'edge', ['system:masters']);
  const headers = [header, 'forged', 'Authorization', 'Bearer opaque'];
  await assert.rejects(async () => askAuthenticators(inbound(headers, edge), authenticators), {
    code: 'Malformed',
  });
  await assert.rejects(async () => askAuthenticators(inbound(headers), authenticators), {
    code: 'Malformed',
  });
});

test('an assertion goes before the certificate of the connection that carries it', async () => {
  const edge = withCertificate('client-ca', 'edge', ['system:masters']);
  const caller = await askAuthenticators(inbound([header, await sign()], edge), [
    newAuthenticator(),
    new X509Authenticator(),
  ]);
  assert.ok(caller.kind === 'authenticated');
  assert.equal(caller.user.name, 'jane@example.com');
});

test('a name that no header line can carry is refused, however well it is signed', async () => {
  for (const name of ['jane\r\nX-Remote-Group: system:masters', 'jane\0', ' jane', 'jane\ud800']) {
    const text = await signer.sign({ ...janesRequest, user: { ...jane, name } });
    await assert.rejects(async () => askAuthenticators(inbound([header, text]), [newAuthenticator()]), {
      name: 'AuthenticationError',
    });
  }
});
