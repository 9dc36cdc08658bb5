import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { MemoryBudget } from '../../packages/http2/index.ts';
import {
  ClientCertificateReader,
  clientCertificateTlsOptions,
  readClientAuthorities,
} from '../../src/node/callers/client-certificate.ts';
import { get } from '../support/api-servers/responses-by-hand.ts';
import { type CertificatePair, createAuthority } from '../support/certificates.ts';
import { readUntil } from '../support/clients/tls-client.ts';
import { eventually } from '../support/eventually.ts';
import { servingTls, startServer } from '../support/routers/node-server.ts';

const cluster = await createAuthority('kubernetes');
const stranger = await createAuthority('kubernetes');
const user = await cluster.issue({ commonName: 'alice', usage: 'client' });
/** Together some 80 KB. */
const others = await stranger.issue({
  commonName: 'nobody',
  usage: 'client',
  dnsNames: Array.from({ length: 14 }, (_, index) => `a${index}.${'x'.repeat(60)}`),
});
const followedByOthers = (pair: CertificatePair): CertificatePair => ({
  ...pair,
  chain: pair.chain + others.certificate.repeat(60),
});

const attacks: Readonly<Record<string, CertificatePair>> = {
  'of an authority that nobody knows': followedByOthers(stranger),
  'behind a certificate that is verified': followedByOthers(user),
};
for (const protocol of ['http/1.1', 'h2']) {
  for (const [title, pair] of Object.entries(attacks)) {
    test(`attack: certificates ${title} are memory that counts, and end their own connection over ${protocol}`, async (context) => {
      const reliefs: string[] = [];
      const port = await serve(context, new MemoryBudget(600_000), (relief) => reliefs.push(relief));
      const honest = await connected(context, port, protocol, user);
      const attacker = await connected(context, port, protocol, pair);
      await once(attacker.resume(), 'close');
      assert.deepEqual(reliefs, ['ended']);
      assert.equal(honest.destroyed, false);
    });
  }
}

test('certificates count for what OpenSSL keeps of them, once, until their connection ends', async (context) => {
  const memory = new MemoryBudget(2 ** 24);
  const port = await serve(context, memory, () => {});
  const client = await connected(
    context,
    port,
    'h2',
    attacks['behind a certificate that is verified'] ?? user,
  );
  // All but 16 KiB of what stands for a certificate: 60 of them, each a little more than its content.
  const sent = 60 * new X509Certificate(others.certificate).raw.length - 16 * 1024;
  await eventually(() => memory.bytes > 11 * sent);
  assert.ok(memory.bytes < 16 * sent, `${memory.bytes} bytes for ${sent}`);
  client.destroy();
  await eventually(() => memory.bytes === 0);
});

test('what a client sends at once behind its handshake is not taken for certificates', async (context) => {
  const reliefs: string[] = [];
  const port = await serve(context, new MemoryBudget(600_000), (relief) => reliefs.push(relief));
  const client = await connected(context, port, 'http/1.1', user);
  client.write(`${get('/', 'Content-Length: 300000')}${'x'.repeat(300_000)}`);
  await readUntil(client, 'taken');
  client.write(get('/'));
  await readUntil(client, 'taken');
  assert.deepEqual(reliefs, []);
});

async function serve(
  context: TestContext,
  memory: MemoryBudget,
  onRelief: (relief: string) => void,
): Promise<number> {
  const authorities = readClientAuthorities({ clientCa: cluster.certificate });
  const reader = new ClientCertificateReader(authorities);
  const taken = async (request: Request) => new Response(`taken ${(await request.text()).length}`);
  const { port } = await startServer(context, taken, {
    tls: { ...servingTls, ...clientCertificateTlsOptions(authorities) },
    clientCertificateOf: (request) => reader.read(request),
    memory,
    onRelief,
  });
  return port;
}

async function connected(
  context: TestContext,
  port: number,
  protocol: string,
  pair: CertificatePair,
): Promise<TLSSocket> {
  const socket = connect({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ALPNProtocols: [protocol],
    cert: pair.chain,
    key: pair.privateKey,
  });
  context.after(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}
