import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { connect } from 'node:tls';
import {
  ClientCertificateReader,
  clientCertificateTlsOptions,
  readClientAuthorities,
} from '../../src/node/callers/client-certificate.ts';
import { type CertificatePair, createAuthority } from '../support/certificates.ts';
import { readToEnd } from '../support/node-clients.ts';
import { servingTls, startServer } from '../support/node-server.ts';
import { get } from '../support/responses-by-hand.ts';

const cluster = await createAuthority('kubernetes');
const stranger = await createAuthority('kubernetes');
const user = await cluster.issue({ commonName: 'alice', usage: 'client' });
const others = await Promise.all(
  Array.from({ length: 16 }, () => stranger.issue({ commonName: 'nobody', usage: 'client' })),
);
const followedByOthers = (pair: CertificatePair): CertificatePair => ({
  ...pair,
  chain: pair.chain + others.map(({ certificate }) => certificate).join(''),
});

async function nested(depth: number): Promise<CertificatePair> {
  let authority = cluster;
  for (let level = 0; level < depth; level++) {
    authority = await authority.createIntermediate(`level ${level}`);
  }
  return authority.issue({ commonName: 'bob', usage: 'client' });
}

const attacks: Readonly<Record<string, CertificatePair>> = {
  'of an authority that nobody knows': followedByOthers(stranger),
  'behind a certificate that is verified': followedByOthers(user),
};
for (const [title, pair] of Object.entries(attacks)) {
  test(`attack: a long chain of certificates ${title} ends the connection, which would keep a mebibyte`, async (context) => {
    assert.equal(await ask(context, pair), '');
  });
}

test('a chain as authorities issue them is taken', async (context) => {
  assert.match(await ask(context, await nested(3)), /^HTTP\/1\.1 200 /);
});

async function ask(context: TestContext, pair: CertificatePair): Promise<string> {
  const authorities = readClientAuthorities({ clientCa: cluster.certificate });
  const reader = new ClientCertificateReader(authorities);
  const { port } = await startServer(context, () => new Response('fine'), {
    tls: { ...servingTls, ...clientCertificateTlsOptions(authorities) },
    clientCertificateOf: (request) => reader.read(request),
  });
  const socket = connect({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    cert: pair.chain,
    key: pair.privateKey,
  });
  context.after(() => socket.destroy());
  socket.on('error', () => {});
  socket.write(get('/', 'Connection: close'));
  return readToEnd(socket);
}
