import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { createAuthority } from '../../../test/support/certificates.ts';
import {
  askOverHttp1,
  askOverHttp2,
  openHttp2,
  openSocket,
  readUntil,
} from '../../../test/support/clients/tls-client.ts';
import { eventually } from '../../../test/support/eventually.ts';
import {
  type StartedRouter,
  servingPair,
  startRouterWithFiles,
  writePair,
} from '../../../test/support/routers/started-router.ts';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { firstHeader } from '../../apimachinery/raw-headers.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../../snapshot/signing/seal.ts';

const pods = '/api/v1/pods';
const watch = `${pods}?watch=1`;
const exec = '/api/v1/namespaces/default/pods/a/exec?command=sh';

interface Status {
  readonly certificates: readonly {
    readonly name: string;
    readonly subject: string;
    readonly lastReload: string | null;
    readonly lastError: string | null;
  }[];
  readonly keyFiles: readonly { readonly name: string; readonly lastError: string | null }[];
  readonly warnings: readonly { readonly message: string }[];
}

async function statusOf(context: TestContext, router: StartedRouter): Promise<Status> {
  const pair = await router.user('admin', ['system:masters']);
  const session = openHttp2(context, { ...clientOf(router), pair });
  const { text } = await askOverHttp2(session, '/.mixed-version-proxy/v1/status');
  return JSON.parse(text);
}

function clientOf({ port, authorities }: StartedRouter) {
  return { port, ca: authorities.cluster.certificate };
}

function servingName(socket: TLSSocket): unknown {
  return socket.getPeerCertificate().subject.CN;
}

/** Streams of every kind, open through the router; each says whether it still carries bytes both ways. */
async function openStreams(context: TestContext, started: StartedRouter): Promise<() => Promise<void>> {
  const pair = await started.user('jane');
  const client = { ...clientOf(started), pair };
  const { apiServer } = started;
  const overHttp1 = await openSocket(context, client);
  overHttp1.write(`GET ${watch} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  await readUntil(overHttp1, 'ADDED');
  const session = openHttp2(context, client);
  const overHttp2 = session.request({ ':path': watch });
  await readUntil(overHttp2, 'ADDED');
  const tunnel = await openSocket(context, client);
  tunnel.write(
    `POST ${exec} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`,
  );
  await readUntil(tunnel, '\r\n\r\n');
  let round = 0;
  return async () => {
    round++;
    assert.equal(apiServer.watches.length, 2);
    for (const stream of apiServer.watches) stream.write(`MODIFIED ${round}\n`);
    await readUntil(overHttp1, `MODIFIED ${round}`);
    await readUntil(overHttp2, `MODIFIED ${round}`);
    tunnel.write(`echo ${round}\n`);
    await readUntil(tunnel, `ECHO ${round}`);
  };
}

for (const protocol of ['h2', 'http/1.1'] as const) {
  describe(`with an API server that speaks ${protocol}`, () => {
    it('open watches and tunnels live through a change of every file', async (context) => {
      const started = await startRouterWithFiles(context, { protocol });
      const { router, authorities, apiServer, write } = started;
      const { cluster, frontProxies } = authorities;
      const stillAlive = await openStreams(context, started);
      await stillAlive();

      const nextFrontProxies = await createAuthority('front-proxies-2');
      await writePair(write, 'serving', await servingPair(cluster, 'router-2'));
      await writePair(
        write,
        'front-proxy',
        await frontProxies.issue({ commonName: 'front-proxy-client-2', usage: 'client' }),
      );
      await write('ca.crt', cluster.certificate + (await createAuthority('kubernetes-2')).certificate);
      await write('front-proxy-ca.crt', frontProxies.certificate + nextFrontProxies.certificate);
      await write('peer-ca.crt', (await createAuthority('kubernetes-2')).certificate + cluster.certificate);
      await router.reload();
      await stillAlive();

      const pair = await started.user('jane');
      const socket = await openSocket(context, { ...clientOf(started), pair });
      assert.equal(servingName(socket), 'router-2');
      assert.equal((await askOverHttp1(socket, pods)).status, 200);
      assert.equal(apiServer.requests.at(-1)?.clientCertificate, 'front-proxy-client-2');
      await stillAlive();
    });

    it('a request that is waiting for a connection when the front-proxy pair changes is still answered', async (context) => {
      const started = await startRouterWithFiles(context, { protocol });
      const { router, authorities, write } = started;
      const pair = await started.user('jane');
      const session = openHttp2(context, { ...clientOf(started), pair });
      await once(session, 'connect');
      const renewed = await authorities.frontProxies.issue({
        commonName: 'front-proxy-client',
        usage: 'client',
      });
      await writePair(write, 'front-proxy', renewed);
      // The first request has to dial; the reload comes while it does.
      const answers = [askOverHttp2(session, pods), askOverHttp2(session, pods)];
      const reloads = [router.reload(), router.reload()];
      for (const { status } of await Promise.all(answers)) assert.equal(status, 200);
      await Promise.all(reloads);
    });
  });
}

describe('a changed serving pair', () => {
  it('is what new connections see', async (context) => {
    const started = await startRouterWithFiles(context);
    await writePair(started.write, 'serving', await servingPair(started.authorities.cluster, 'router-2'));
    assert.equal(servingName(await openSocket(context, clientOf(started))), 'router');
    await started.router.reload();
    assert.equal(servingName(await openSocket(context, clientOf(started))), 'router-2');
  });

  it('that is half-written keeps the old, says so, and is taken once it is whole', async (context) => {
    const started = await startRouterWithFiles(context);
    const { router, logs, write } = started;
    const next = await servingPair(started.authorities.cluster, 'router-2');
    await write('serving.crt', next.chain);
    await router.reload();
    await router.reload();
    assert.equal(servingName(await openSocket(context, clientOf(started))), 'router');
    const errors = logs.filter(({ level }) => level === 'error');
    assert.equal(errors.length, 1, 'one line for one error');
    assert.match(
      String(errors[0]?.fields['error']),
      /--tls-private-key-file: .* does not belong to the first/,
    );
    const broken = await statusOf(context, started);
    const serving = broken.certificates.find(({ name }) => name === 'tls-cert-file');
    assert.equal(serving?.subject, 'CN=router', 'of the one in use');
    assert.match(serving?.lastError ?? '', /does not belong/);
    assert.match(
      broken.warnings.map(({ message }) => message).join('\n'),
      /--tls-cert-file: .* was not reloaded, the old one stays in use/,
    );

    await write('serving.key', next.privateKey);
    await router.reload();
    assert.equal(servingName(await openSocket(context, clientOf(started))), 'router-2');
    const mended = await statusOf(context, started);
    const renewed = mended.certificates.find(({ name }) => name === 'tls-cert-file');
    assert.equal(renewed?.subject, 'CN=router-2');
    assert.equal(renewed?.lastError, null);
    assert.ok(!Number.isNaN(Date.parse(renewed?.lastReload ?? '')));
    assert.deepEqual(mended.warnings, []);
  });
});

it('one bad file of a change keeps all of the old in force, until it is mended: then all of it is new', async (context) => {
  const started = await startRouterWithFiles(context);
  const { router, write, logs, authorities } = started;
  await writePair(write, 'serving', await servingPair(authorities.cluster, 'router-2'));
  await write('keys.json', '{"keys": [{}]}');
  await router.reload();
  assert.equal(servingName(await openSocket(context, clientOf(started))), 'router');
  const [error, ...others] = logs.filter(({ level }) => level === 'error');
  assert.deepEqual(others, []);
  assert.match(String(error?.fields['error']), /^--snapshot-keys: /);
  const { certificates, keyFiles } = await statusOf(context, started);
  const waiting = [...certificates, ...keyFiles].filter(({ lastError }) => lastError !== null);
  assert.deepEqual(
    waiting.map(({ name }) => name),
    ['tls-cert-file', 'snapshot-keys'],
    'what has changed, and nothing else',
  );

  await write('keys.json', JSON.stringify({ keys: [started.snapshotKey.publicJwk] }));
  await router.reload();
  assert.equal(servingName(await openSocket(context, clientOf(started))), 'router-2');
  assert.deepEqual((await statusOf(context, started)).warnings, []);
});

describe('changed authorities of client certificates', () => {
  it('let in certificates of the new one, and those of the old no more, on open connections too', async (context) => {
    const started = await startRouterWithFiles(context);
    const { router, apiServer, write } = started;
    const open = openHttp2(context, { ...clientOf(started), pair: await started.user('jane') });
    assert.equal((await askOverHttp2(open, pods)).status, 200);
    const next = await createAuthority('kubernetes-2');
    const joe = await next.issue({ commonName: 'joe', usage: 'client' });
    const early = openHttp2(context, { ...clientOf(started), pair: joe });
    assert.equal((await askOverHttp2(early, pods)).status, 401);

    await write('ca.crt', next.certificate);
    await router.reload();
    assert.equal((await askOverHttp2(open, pods)).status, 401, 'its authority is gone');
    const later = openHttp2(context, { ...clientOf(started), pair: joe });
    assert.equal((await askOverHttp2(later, pods)).status, 200);
    assert.equal(firstHeader(apiServer.requests.at(-1)?.headers ?? [], 'x-remote-user'), 'joe');
  });

  it('S10: are not taken when users would become front proxies', async (context) => {
    const started = await startRouterWithFiles(context);
    const { router, logs, write, authorities } = started;
    await write('front-proxy-ca.crt', authorities.frontProxies.certificate + authorities.cluster.certificate);
    await router.reload();
    assert.match(
      JSON.stringify(logs.filter(({ level }) => level === 'error')),
      /--requestheader-client-ca-file and --client-ca-file hold the same CA key/,
    );
    const forger = await started.user('front-proxy-client');
    const session = openHttp2(context, { ...clientOf(started), pair: forger });
    await askOverHttp2(session, pods, { headers: ['x-remote-user', 'root'] });
    const request = started.apiServer.requests.at(-1);
    assert.equal(request?.headers.includes('root'), false, 'the forged name reached the API server');
  });

  it('that are emptied keep the old', async (context) => {
    const started = await startRouterWithFiles(context);
    await started.write('ca.crt', '');
    await started.router.reload();
    const session = openHttp2(context, { ...clientOf(started), pair: await started.user('jane') });
    assert.equal((await askOverHttp2(session, pods)).status, 200);
    assert.match(
      (await statusOf(context, started)).warnings.map(({ message }) => message).join('\n'),
      /--client-ca-file.* holds no PEM certificate/,
    );
  });
});

describe('changed authorities of API servers', () => {
  it('count from the next connection on', async (context) => {
    const started = await startRouterWithFiles(context);
    const { router, apiServer, write, authorities } = started;
    const next = await createAuthority('kubernetes-2');
    apiServer.use({
      pair: await servingPair(next, 'kube-apiserver'),
      clientAuthorities: authorities.frontProxies.certificate,
    });
    const session = openHttp2(context, { ...clientOf(started), pair: await started.user('jane') });
    assert.equal((await askOverHttp2(session, pods)).status, 503);
    await write('peer-ca.crt', next.certificate);
    await router.reload();
    assert.equal((await askOverHttp2(session, pods)).status, 200);
  });

  it('may be of the local server alone', async (context) => {
    const own = await createAuthority('local-only');
    const started = await startRouterWithFiles(context, { localAuthority: own });
    const { router, write, apiServer, authorities } = started;
    const session = openHttp2(context, { ...clientOf(started), pair: await started.user('jane') });
    assert.equal((await askOverHttp2(session, pods)).status, 200);
    const next = await createAuthority('local-only-2');
    apiServer.use({
      pair: await servingPair(next, 'kube-apiserver'),
      clientAuthorities: authorities.frontProxies.certificate,
    });
    await write('local-ca.crt', next.certificate);
    await router.reload();
    assert.equal((await askOverHttp2(session, pods)).status, 200);
    const names = (await statusOf(context, started)).certificates.map(({ name }) => name);
    assert.ok(names.includes('local-server-ca-file'), names.join());
  });
});

it('changed snapshot keys count for the next snapshot; a private key among them is refused unseen', async (context) => {
  const started = await startRouterWithFiles(context);
  const { router, write, logs } = started;
  await write('keys.json', JSON.stringify({ keys: [started.snapshotKey.privateJwk] }));
  await router.reload();
  const [error] = logs.filter(({ level }) => level === 'error');
  assert.match(String(error?.fields['error']), /--snapshot-keys: .*this is a private or secret key/);
  assert.ok(!JSON.stringify(logs).includes(String(started.snapshotKey.privateJwk.d)));
  const { keyFiles } = await statusOf(context, started);
  assert.deepEqual(
    keyFiles.map(({ name }) => name),
    ['snapshot-keys'],
  );
  assert.match(keyFiles[0]?.lastError ?? '', /private or secret key/);

  const next = await generateSigningKey('ES256');
  const body = await sealSnapshot(snapshotOf({ 'cp-a': ['v1/pods'] }), signingKeyOf(next.privateJwk));
  const pair = await started.user('admin', ['system:masters']);
  const session = openHttp2(context, { ...clientOf(started), pair });
  const push = () => askOverHttp2(session, '/.mixed-version-proxy/v1/snapshot', { method: 'PUT', body });
  assert.equal((await push()).status, 401, 'the key is not pinned yet');
  await write('keys.json', JSON.stringify({ keys: [next.publicJwk] }));
  await router.reload();
  const again = openHttp2(context, { ...clientOf(started), pair });
  const taken = await askOverHttp2(again, '/.mixed-version-proxy/v1/snapshot', { method: 'PUT', body });
  assert.equal(taken.status, 200, taken.text);
});

it('files are looked at by themselves', async (context) => {
  const started = await startRouterWithFiles(context);
  await started.write('ca.crt', '');
  await eventually(() => started.logs.some(({ level }) => level === 'error'));
});
