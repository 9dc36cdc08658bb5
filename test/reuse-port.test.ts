import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { connect } from 'node:tls';
import { flagArguments } from '../scripts/harness/command.ts';
import { sealSnapshot } from '../src/snapshot/signing/seal.ts';
import { signingKeyOf } from '../src/snapshot/signing/signing-key.ts';
import { assertionKeysFile, speaker } from './support/assertions.ts';
import type { Authority, CertificatePair } from './support/certificates.ts';
import { type CommandProcess, startCommandProcess } from './support/command-process.ts';
import { eventually } from './support/eventually.ts';
import { parseScrape } from './support/prometheus-text.ts';
import { snapshotOf } from './support/snapshot-builder.ts';
import { routerFiles } from './support/started-router.ts';
import { readUntil } from './support/tls-client.ts';

/** The files of a router that is started as a command. */
interface CommandRouterFixture {
  readonly cluster: Authority;
  path(name: string): string;
  /** `serve` with these flags beside those that every router needs. */
  args(flags?: Readonly<Record<string, readonly string[] | undefined>>): readonly string[];
  /** A sealed snapshot of this generation, in which the local server serves pods. */
  sealed(generation: number): Promise<string>;
  superuser(): Promise<CertificatePair>;
}

/** A router that runs as a command. */
interface CommandRouter {
  readonly command: CommandProcess;
  readonly port: number;
  /** Where it has an admin address. */
  readonly adminOrigin: string | undefined;
}

async function createCommandRouterFixture(context: TestContext): Promise<CommandRouterFixture> {
  const files = await routerFiles(context);
  const { apiServer, authorities, path, snapshotKey } = files;
  await files.write('assertion-keys.json', assertionKeysFile([await speaker('edge')]));
  return {
    cluster: authorities.cluster,
    path,
    args: (flags = {}) => [
      'serve',
      ...flagArguments({
        ...files.flags,
        'snapshot-file': [path('snapshot')],
        'assertion-keys': [path('assertion-keys.json')],
        'allow-loopback-peers': ['true'],
        'logging-format': ['json'],
        ...flags,
      }),
    ],
    sealed: (generation) =>
      sealSnapshot(
        snapshotOf(
          { 'cp-a': { serves: ['v1/pods'], address: `127.0.0.1:${apiServer.port}` } },
          { generation },
        ),
        signingKeyOf(snapshotKey.privateJwk),
      ),
    superuser: () =>
      authorities.cluster.issue({ commonName: 'admin', organizations: ['system:masters'], usage: 'client' }),
  };
}

/** Starts `serve` with these flags; killed, if it still runs, when the test is over. */
async function startCommandRouter(
  context: TestContext,
  fixture: CommandRouterFixture,
  flags: Readonly<Record<string, readonly string[] | undefined>> = {},
): Promise<CommandRouter> {
  const command = startCommandProcess(context, fixture.args(flags));
  // The admin address is told of before that.
  const serving = (): string | undefined => /^.*"msg":"Serving".*$/m.exec(command.log())?.[0];
  await eventually(() => serving() !== undefined || !command.isRunning(), 60_000);
  assert.ok(command.isRunning(), `the router did not start: ${command.log()}`);
  const { origin, adminOrigin } = JSON.parse(serving() ?? '');
  return { command, port: Number(new URL(origin).port), adminOrigin };
}

const snapshotPath = '/.mixed-version-proxy/v1/snapshot';

/** Connections at once, so many that of two routers none is left out: one of 2^63 times. */
const connections = 64;

function atAdminAddress({ adminOrigin }: CommandRouter, path: string, init?: RequestInit): Promise<Response> {
  return fetch(`${adminOrigin}${path}`, init);
}

/** Requests for lists of pods that it has answered. */
async function listed(router: CommandRouter): Promise<number> {
  const scrape = await (await atAdminAddress(router, '/metrics')).text();
  const samples = parseScrape(scrape, 'text').get('mixed_version_proxy_requests_total')?.samples ?? [];
  return samples
    .filter(({ labels }) => labels['verb'] === 'LIST' && labels['code'] === '200')
    .reduce((sum, { value }) => sum + value, 0);
}

/**
 * Asks on a connection of its own. As every client does, it goes on to another one when its connection ends without an
 * answer, twice at most: it may have waited for a router that has just left the port.
 */
async function list(
  context: TestContext,
  port: number,
  fixture: CommandRouterFixture,
  pair: CertificatePair,
  triesLeft = 2,
): Promise<string> {
  const socket = connect({
    ...{ host: '127.0.0.1', port, ca: fixture.cluster.certificate, cert: pair.chain, key: pair.privateKey },
    ALPNProtocols: ['http/1.1'],
  });
  context.after(() => socket.destroy());
  socket.on('error', () => {});
  try {
    await once(socket, 'secureConnect');
    socket.write('GET /api/v1/pods HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    return (await readUntil(socket, '\r\n')).split(' ', 2)[1] ?? '';
  } catch (error) {
    if (triesLeft === 0) throw error;
    return await list(context, port, fixture, pair, triesLeft - 1);
  } finally {
    socket.destroy();
  }
}

test('several routers share a port, each a router by itself: one restarts, and requests go on', async (context) => {
  const fixture = await createCommandRouterFixture(context);
  const pair = await fixture.superuser();
  const start = (name: string, port = 0): Promise<CommandRouter> =>
    startCommandRouter(context, fixture, {
      'secure-port': [String(port)],
      'reuse-port': ['true'],
      'admin-bind-address': ['127.0.0.1:0'],
      'snapshot-file': [fixture.path(name)],
    });
  const first = await start('snapshot-1');
  const { port } = first;
  const second = await start('snapshot-2', port);
  assert.equal(second.port, port);
  const ask = (): Promise<string> => list(context, port, fixture, pair);
  const isReady = async (router: CommandRouter): Promise<boolean> =>
    (await atAdminAddress(router, '/readyz')).ok;

  await context.test('a snapshot is pushed to each, at its admin address', async () => {
    const body = await fixture.sealed(1);
    assert.equal((await atAdminAddress(first, snapshotPath, { method: 'PUT', body })).status, 200);
    assert.deepEqual([await isReady(first), await isReady(second)], [true, false]);
    assert.equal((await atAdminAddress(second, snapshotPath, { method: 'PUT', body })).status, 200);
    assert.equal(await isReady(second), true);
  });

  await context.test('both are given connections, and each counts its own requests', async () => {
    const answers = await Promise.all(Array.from({ length: connections }, ask));
    assert.deepEqual(new Set(answers), new Set(['200']));
    // A request is counted when it is over, which is a moment later.
    let counts: readonly number[] = [];
    await eventually(async () => {
      counts = [await listed(first), await listed(second)];
      return counts.reduce((sum, count) => sum + count, 0) === connections;
    });
    assert.ok(
      counts.every((count) => count > 0),
      `${counts}`,
    );
  });

  await context.test('while one restarts every request is answered, and it is used again', async () => {
    let isOver = false;
    const asking = (async () => {
      const answers: string[] = [];
      while (!isOver) {
        answers.push(await ask());
        // Handshakes without a rest would take the processor from the router that starts.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return answers;
    })();
    first.command.signal('SIGTERM');
    assert.equal(await first.command.ended, 0);
    assert.equal(await ask(), '200');
    const restarted = await start('snapshot-1', port);
    // Out of its own file: nobody has pushed it anything.
    assert.equal(await isReady(restarted), true);
    const before = await listed(restarted);
    await Promise.all(Array.from({ length: connections }, ask));
    await eventually(async () => (await listed(restarted)) > before);
    isOver = true;
    assert.deepEqual(new Set(await asking), new Set(['200']));
  });

  await context.test(
    'a router that does not say so is refused the port, and told what to do',
    async (each) => {
      const alone = startCommandProcess(each, fixture.args({ 'secure-port': [String(port)] }));
      assert.equal(await alone.ended, 1);
      assert.match(alone.log(), /is in use: .*--reuse-port/);
    },
  );
});
