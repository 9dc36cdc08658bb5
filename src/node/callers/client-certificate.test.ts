import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createPlainServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import {
  authorities,
  clientOptions,
  cluster,
  exchange,
  frontProxy,
  getOverHttp1,
  getOverHttp2,
  listen,
  type Read,
  readOne,
  sha256Of,
} from '../../../test/support/api-servers/client-certificate-server.ts';
import {
  type CertificatePair,
  createAuthority,
  issueWithoutAuthority,
} from '../../../test/support/certificates.ts';
import {
  type ClientCertificateInfo,
  ClientCertificateReader,
  clientCertificateTlsOptions,
  readClientAuthorities,
} from './client-certificate.ts';

test('a certificate that an authority has signed itself is examined once for all connections', async (context) => {
  const checked = context.mock.method(X509Certificate.prototype, 'verify');
  const reader = new ClientCertificateReader(authorities);
  const server = await listen(context, (request) => reader.read(request));
  const jane = await cluster.issue({ commonName: 'jane', organizations: ['dev'], usage: 'client' });
  const namesake = await cluster.issue({ commonName: 'jane', organizations: ['ops'], usage: 'client' });
  await getOverHttp1(context, server.port, jane);
  const signatures = checked.mock.callCount();
  assert.ok(signatures > 0);
  await getOverHttp2(context, server.port, jane);
  assert.equal(checked.mock.callCount(), signatures);
  await getOverHttp1(context, server.port, namesake);
  assert.equal(checked.mock.callCount(), 2 * signatures);
  const organizations = server.seen.map(({ clientCertificate }) => clientCertificate?.organizations);
  assert.deepEqual(organizations, [['dev'], ['dev'], ['ops']]);
});

describe('attack: a certificate that is cached from another connection', () => {
  it('yields no identity if the handshake has not verified it', async (context) => {
    const reader = new ClientCertificateReader(authorities);
    const jane = await cluster.issue({ commonName: 'jane', usage: 'client' });
    const verifying = await listen(context, (request) => reader.read(request));
    await getOverHttp1(context, verifying.port, jane);
    const other = await createAuthority('other');
    const doubting = await listen(context, (request) => reader.read(request), authorities, {
      ca: other.certificate,
    });
    await getOverHttp1(context, doubting.port, jane);
    assert.equal(verifying.seen[0]?.clientCertificate?.commonName, 'jane');
    assert.equal(doubting.seen[0]?.clientCertificate, undefined);
    assert.match(doubting.seen[0]?.clientCertificateError ?? '', /verification failed/);
  });

  it('stops counting when it expires', async (context) => {
    let now = Date.now();
    const reader = new ClientCertificateReader(authorities, () => now);
    const server = await listen(context, (request) => reader.read(request));
    const jane = await cluster.issue({ commonName: 'jane', usage: 'client' });
    await getOverHttp1(context, server.port, jane);
    now += 7 * 86_400_000;
    await getOverHttp1(context, server.port, jane);
    assert.equal(server.seen[0]?.clientCertificate?.commonName, 'jane');
    assert.match(server.seen[1]?.clientCertificateError ?? '', /expired/);
  });
});

describe('a certificate of a configured authority', () => {
  it('names its common name, its organizations in order, and its bundle', async (context) => {
    const organizations = ['system:masters', 'a, b', 'back\\slash=+"', 'équipe 東京', 'system:masters'];
    const user = await cluster.issue({ commonName: 'jane, doe', organizations, usage: 'client' });
    assert.deepEqual(await readOne(context, user), {
      clientCertificate: {
        commonName: 'jane, doe',
        organizations,
        sha256: sha256Of(user),
        authority: 'client-ca',
      },
    });
    const proxy = await frontProxy.issue({
      commonName: 'front-proxy-client',
      organizations: ['o'],
      usage: 'client',
    });
    assert.deepEqual(await readOne(context, proxy), {
      clientCertificate: {
        commonName: 'front-proxy-client',
        organizations: ['o'],
        sha256: sha256Of(proxy),
        authority: 'requestheader-client-ca',
      },
    });
  });

  it('is read on HTTP/2 as on HTTP/1, once for each connection', async (context) => {
    const reader = new ClientCertificateReader(authorities);
    const server = await listen(context, (request) => reader.read(request));
    const user = await cluster.issue({ commonName: 'jane', usage: 'client' });
    await getOverHttp2(context, server.port, user, 3);
    await getOverHttp1(context, server.port, user, 2);
    const expected = {
      commonName: 'jane',
      organizations: [],
      sha256: sha256Of(user),
      authority: 'client-ca',
    };
    const certificates = server.seen.map(({ clientCertificate }) => clientCertificate);
    assert.deepEqual(certificates, new Array(5).fill(expected));
    assert.equal(certificates[0], certificates[2], 'kept for the HTTP/2 session');
    assert.notEqual(certificates[2], certificates[3]);
    assert.equal(certificates[3], certificates[4], 'kept for the HTTP/1 connection');
  });

  it('may come with intermediates that the client supplies', async (context) => {
    const team = await cluster.createIntermediate('team');
    const intermediate = await team.createIntermediate('sub-team');
    const user = await intermediate.issue({ commonName: 'jane', usage: 'client' });
    assert.equal((await readOne(context, user)).clientCertificate?.authority, 'client-ca');
    const withoutIntermediates = { ...user, chain: user.certificate };
    assert.match(
      (await readOne(context, withoutIntermediates)).clientCertificateError ?? '',
      /verification failed/,
    );
  });

  it('needs no extended key usage, but is not a server certificate', async (context) => {
    const unrestricted = await cluster.issue({ commonName: 'jane', usage: 'unrestricted' });
    assert.equal((await readOne(context, unrestricted)).clientCertificate?.commonName, 'jane');
    const server = await cluster.issue({ commonName: 'jane', usage: 'server' });
    assert.match((await readOne(context, server)).clientCertificateError ?? '', /INVALID_PURPOSE/);
  });

  it('may hold a UID', async (context) => {
    const user = await cluster.issue({ commonName: 'jane', uids: ['u-1'], usage: 'client' });
    assert.equal((await readOne(context, user)).clientCertificate?.uid, 'u-1');
  });

  it('may lack a common name', async (context) => {
    const nameless = await cluster.issue({ organizations: ['dev'], usage: 'client' });
    assert.equal((await readOne(context, nameless)).clientCertificate?.commonName, '');
  });

  it('stops counting when it expires while its connection lives on', async (context) => {
    let now = Date.now();
    const reader = new ClientCertificateReader(authorities, () => now);
    const server = await listen(context, (request) => reader.read(request));
    const user = await cluster.issue({ commonName: 'jane', usage: 'client' });
    const socket = connect({ ...clientOptions(server.port, user), ALPNProtocols: ['http/1.1'] });
    await exchange(socket, 1);
    now += 7 * 86_400_000;
    await exchange(socket, 1);
    socket.destroy();
    assert.equal(server.seen[0]?.clientCertificate?.commonName, 'jane');
    assert.equal(server.seen[1]?.clientCertificate, undefined);
    assert.match(server.seen[1]?.clientCertificateError ?? '', /expired/);
  });

  it('still counts after its authority was renewed with the same key', async (context) => {
    const bundle = cluster.certificate + (await cluster.renew()).certificate;
    const renewed = readClientAuthorities({ clientCa: bundle, requestHeaderCa: frontProxy.certificate });
    const user = await cluster.issue({ commonName: 'jane', usage: 'client' });
    assert.equal((await readOne(context, user, renewed)).clientCertificate?.authority, 'client-ca');
  });
});

describe('S10: a certificate that yields no identity', () => {
  const masters = { commonName: 'admin', organizations: ['system:masters'], usage: 'client' } as const;

  it('is one of a rogue authority, also under the name of a configured one', async (context) => {
    for (const name of ['rogue', 'kubernetes', 'kubernetes-front-proxy-ca']) {
      const rogue = await createAuthority(name);
      const intermediate = await rogue.createIntermediate('sub');
      for (const pair of [await rogue.issue(masters), await intermediate.issue(masters)]) {
        const withRoot = { ...pair, chain: pair.chain + rogue.certificate };
        for (const presented of [pair, withRoot]) {
          const info = await readOne(context, presented);
          assert.deepEqual(Object.keys(info), ['clientCertificateError']);
          assert.match(info.clientCertificateError ?? '', /^TLS verification failed: /);
        }
      }
    }
  });

  it('is one that vouches for itself', async (context) => {
    const selfSigned = await createAuthority('admin');
    assert.match((await readOne(context, selfSigned)).clientCertificateError ?? '', /verification failed/);
  });

  it('is one signed with the key of a user’s certificate', async (context) => {
    for (const usage of ['client', 'unrestricted'] as const) {
      const mallory = await cluster.issue({ commonName: 'mallory', usage });
      const forged = await issueWithoutAuthority('mallory', mallory, masters);
      assert.match((await readOne(context, forged)).clientCertificateError ?? '', /verification failed/);
    }
  });

  it('is an expired one', async (context) => {
    const expired = await cluster.issue({ ...masters, notAfter: new Date(Date.now() - 60_000) });
    assert.match((await readOne(context, expired)).clientCertificateError ?? '', /CERT_HAS_EXPIRED/);
  });

  it('is one with several common names, of which parsers choose differently', async (context) => {
    const ambiguous = await cluster.issue({ ...masters, commonName: ['jane', 'admin'] });
    assert.deepEqual(await readOne(context, ambiguous), {
      clientCertificateError: 'the subject has several common names',
    });
  });

  for (const uids of [['u-1', 'u-2'], ['']]) {
    it(`is one with the UIDs ${JSON.stringify(uids)}, as servers from 1.33 on refuse it`, async (context) => {
      const user = await cluster.issue({ commonName: 'jane', uids, usage: 'client' });
      const { clientCertificate, clientCertificateError } = await readOne(context, user);
      assert.equal(clientCertificate, undefined);
      assert.match(clientCertificateError ?? '', /UID/);
    });
  }

  it('is one that only TLS calls authorized: the chain is checked against the bundles themselves', async (context) => {
    const other = await createAuthority('trusted-by-the-server-only');
    const reader = new ClientCertificateReader(authorities);
    const server = await listen(context, (request) => reader.read(request), authorities, {
      ca: other.certificate,
    });
    await getOverHttp1(context, server.port, await other.issue(masters));
    assert.deepEqual(server.seen, [
      { clientCertificateError: 'the certificate does not descend from a configured authority' },
    ]);
  });
});

describe('no client certificate', () => {
  it('is no error', async (context) => {
    assert.deepEqual(await readOne(context, undefined), {});
  });

  it('is asked for only where there are authorities, so that public ones never count', async (context) => {
    const none = readClientAuthorities({});
    assert.deepEqual(clientCertificateTlsOptions(none), { requestCert: false });
    assert.deepEqual(
      await readOne(context, await cluster.issue({ commonName: 'jane', usage: 'client' }), none),
      {},
    );
  });

  it('is what a connection without TLS has', async (context) => {
    const reader = new ClientCertificateReader(authorities);
    const read: ClientCertificateInfo[] = [];
    const server = createPlainServer((request, response) => {
      read.push(reader.read(request));
      response.end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    context.after(() => server.close());
    await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)).text();
    assert.deepEqual(read, [{}]);
  });
});

describe('a resumed TLS session', () => {
  async function resumedInfo(context: TestContext, pair: CertificatePair, tlsOptions: object) {
    const reader = new ClientCertificateReader(authorities);
    // By connection: more than a request is read.
    const resumptions = new Map<object, boolean>();
    const read: Read = ({ socket }) => {
      resumptions.set(socket, (socket as TLSSocket).isSessionReused());
      return reader.read({ socket });
    };
    const server = await listen(context, read, authorities, tlsOptions);
    const options = {
      ...clientOptions(server.port, pair),
      maxVersion: 'TLSv1.2',
      ALPNProtocols: ['http/1.1'],
    } as const;
    const first = connect(options);
    await exchange(first, 1);
    const session = first.getSession();
    first.destroy();
    const second = connect({ ...options, ...(session === undefined ? {} : { session }) });
    await exchange(second, 1);
    second.destroy();
    return { reused: [...resumptions.values()], info: server.seen[1] ?? {} };
  }

  it('is not offered, since its ticket would lose the intermediates of the client', async (context) => {
    const team = await cluster.createIntermediate('team');
    const user = await team.issue({ commonName: 'jane', usage: 'client' });
    const { reused, info } = await resumedInfo(context, user, {});
    assert.deepEqual(reused, [false, false]);
    assert.equal(info.clientCertificate?.commonName, 'jane');
  });

  it('yields no identity where tickets are on and the chain is lost', async (context) => {
    const team = await cluster.createIntermediate('team');
    const user = await team.issue({ commonName: 'jane', usage: 'client' });
    const { reused, info } = await resumedInfo(context, user, { secureOptions: 0 });
    assert.deepEqual(reused, [false, true]);
    assert.deepEqual(info, {
      clientCertificateError: 'the certificate does not descend from a configured authority',
    });
  });
});
