import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { startCommandProcess } from '../support/command-process.ts';
import { eventually } from '../support/eventually.ts';
import {
  allEnd,
  createProcessRouterFixture,
  generationOf,
  listedPods,
  type ProcessRouter,
  pairOf,
  snapshotPath,
  startProcessRouter,
} from '../support/process-router.ts';
import { type ParsedFamily, sampleValue } from '../support/prometheus-text.ts';
import { servingPair, writePair } from '../support/started-router.ts';
import { askOverHttp2, openHttp1, openHttp2, readUntil } from '../support/tls-client.ts';

const processes = 2;
const auditPolicy = JSON.stringify({
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  rules: [{ level: 'Metadata' }],
});

function configurationText(allowedUsers: readonly string[]): string {
  return JSON.stringify({
    apiVersion: 'mixed-version-proxy/v1alpha1',
    kind: 'RouterConfiguration',
    ownPaths: { allowedUsers, allowedGroups: ['system:masters'] },
  });
}

async function openWatch(context: TestContext, router: ProcessRouter): Promise<TLSSocket> {
  const { port, cluster, superuser } = router;
  const watch = await openHttp1(context, { port, ca: cluster.certificate, pair: await superuser() });
  watch.write('GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await readUntil(watch, '\r\n\r\n');
  return watch;
}

/** Counters and buckets that are lower than before, or gone. */
function fallenCounters(
  before: ReadonlyMap<string, ParsedFamily>,
  after: ReadonlyMap<string, ParsedFamily>,
): string[] {
  const values = (families: ReadonlyMap<string, ParsedFamily>): Map<string, number> => {
    const counted = [...families.values()].filter(({ type }) => type !== 'gauge');
    const samples = counted.flatMap((family) => family.samples);
    return new Map(samples.map(({ name, labels, value }) => [`${name} ${JSON.stringify(labels)}`, value]));
  };
  const later = values(after);
  return [...values(before)].flatMap(([series, value]) =>
    (later.get(series) ?? Number.NEGATIVE_INFINITY) < value ? [series] : [],
  );
}

// One router for all of them, in this order: processes take a while to start.
test('the life of a router of several processes', async (context) => {
  const fixture = await createProcessRouterFixture(context);
  await fixture.write('audit-policy.yaml', auditPolicy);
  const writeConfiguration = (allowedUsers: readonly string[]): Promise<void> =>
    fixture.write('router.yaml', configurationText(allowedUsers));
  await writeConfiguration(['nobody', 'leaver']);
  const keys = await readFile(fixture.path('keys.json'), 'utf8');
  const router = await startProcessRouter(context, fixture, processes, {
    config: [fixture.path('router.yaml')],
    'shutdown-watch-termination-grace-period': ['500ms'],
    'audit-policy-file': [fixture.path('audit-policy.yaml')],
    'audit-log-path': [fixture.path('audit.log')],
  });

  await context.test(
    'a process that is killed is replaced: same snapshot, and no counter falls',
    async () => {
      const [first, second] = pairOf(await router.connectToEach());
      await first.ask(snapshotPath, { method: 'PUT', body: await router.sealed(7) });
      for (let request = 0; request < 5; request++) await second.ask('/api/v1/pods');
      const before = await first.scrape();
      assert.equal(listedPods(before), 5);
      const killed = router.pids().get(2) ?? assert.fail('process 2 serves');
      process.kill(killed, 'SIGKILL');
      await eventually(() => router.command.log().includes('"signal":"SIGKILL"'));
      assert.deepEqual(fallenCounters(before, await first.scrape()), []);
      await eventually(() => router.pids().get(2) !== killed);
      const [, replacement] = pairOf(await router.connectToEach());
      assert.equal(await generationOf(replacement), 7);
      const after = await replacement.scrape();
      assert.deepEqual(fallenCounters(before, after), []);
      assert.equal(sampleValue(after, 'mixed_version_proxy_process_restarts_total'), 1);
      assert.equal(sampleValue(after, 'mixed_version_proxy_processes', { state: 'answering' }), processes);
    },
  );

  await context.test('a process that is asked to end by itself is replaced, too', async () => {
    const [first] = pairOf(await router.connectToEach());
    await first.ask('/api/v1/pods');
    const asked = router.pids().get(1) ?? assert.fail('process 1 serves');
    process.kill(asked, 'SIGTERM');
    await eventually(() => router.pids().get(1) !== asked);
    const [replacement] = pairOf(await router.connectToEach());
    // It told its counts before it went, though nobody had scraped them.
    assert.equal(listedPods(await replacement.scrape()), 6);
  });

  await context.test('SIGHUP: every process takes a new serving certificate into use', async (each) => {
    await writePair(fixture.write, 'serving', await servingPair(router.cluster, 'renewed'));
    router.command.signal('SIGHUP');
    let inARow = 0;
    await eventually(async () => {
      const socket = await openHttp1(each, { port: router.port, ca: router.cluster.certificate });
      inARow = socket.getPeerCertificate().subject.CN === 'renewed' ? inARow + 1 : 0;
      socket.destroy();
      return inARow === processes;
    });
  });

  await context.test('SIGHUP: every process goes by the configuration file as it is now', async (each) => {
    const ca = router.cluster.certificate;
    const pair = await router.cluster.issue({ commonName: 'auditor', usage: 'client' });
    const auditors = Array.from({ length: processes }, () =>
      openHttp2(each, { port: router.port, ca, pair }),
    );
    const statuses = () =>
      Promise.all(
        auditors.map(async (auditor) => (await askOverHttp2(auditor, '/.mixed-version-proxy/flagz')).status),
      );
    assert.deepEqual(await statuses(), [403, 403]);
    await writeConfiguration(['nobody', 'auditor']);
    router.command.signal('SIGHUP');
    await eventually(async () => (await statuses()).every((status) => status === 200));
  });

  await context.test(
    'attack: a process that is killed does not come back with an allowed user who was removed meanwhile',
    async (each) => {
      const killed = router.pids().get(1) ?? assert.fail('process 1 serves');
      process.kill(killed, 'SIGKILL');
      await eventually(() => router.pids().get(1) !== killed);
      const ca = router.cluster.certificate;
      const statusesOf = async (commonName: string) => {
        const pair = await router.cluster.issue({ commonName, usage: 'client' });
        const asking = Array.from({ length: processes }, () =>
          openHttp2(each, { port: router.port, ca, pair }),
        );
        return Promise.all(
          asking.map(async (session) => (await askOverHttp2(session, '/.mixed-version-proxy/flagz')).status),
        );
      };
      assert.deepEqual(await statusesOf('leaver'), [403, 403]);
      assert.deepEqual(await statusesOf('auditor'), [200, 200]);

      // Nor, while the file is at fault, with the configuration of the start, which nobody else has any more.
      const last = router.pids().get(1) ?? assert.fail('process 1 serves');
      await fixture.write('router.yaml', 'kind: nonsense');
      process.kill(last, 'SIGKILL');
      await eventually(() => /"reason":"[^"]*configuration file/.test(router.command.log()));
      assert.equal((await statusesOf('leaver')).includes(200), false);
      await writeConfiguration(['nobody', 'auditor']);
      await eventually(() => router.pids().get(1) !== last);
      assert.deepEqual(await statusesOf('leaver'), [403, 403]);
    },
  );

  await context.test('a process that cannot start any more is tried again until it can', async () => {
    const [first] = pairOf(await router.connectToEach());
    const killed = router.pids().get(2) ?? assert.fail('process 2 serves');
    await fixture.write('keys.json', 'no key');
    process.kill(killed, 'SIGKILL');
    const failures = () => router.command.log().match(/"reason":"[^"]*--snapshot-keys/g)?.length ?? 0;
    await eventually(() => failures() > 0);
    assert.equal((await first.ask('/api/v1/pods')).status, 200);
    await fixture.write('keys.json', keys);
    await eventually(() => router.pids().get(2) !== killed);
  });

  await context.test('SIGTERM: the watches of all processes end with their last chunk', async (each) => {
    const watches = [await openWatch(each, router), await openWatch(each, router)];
    const pids = [...router.pids().values()];
    // All of them get it, as from a terminal or from systemd.
    for (const pid of pids) process.kill(pid, 'SIGTERM');
    router.command.signal('SIGTERM');
    for (const watch of watches) {
      assert.match(Buffer.concat(await watch.toArray()).toString('latin1'), /0\r\n\r\n$/);
    }
    assert.equal(await router.command.ended, 0);
    await allEnd(pids);
  });

  await context.test('each line of the log says which process writes', () => {
    const lines = router.command
      .log()
      .split('\n')
      .filter((line) => line !== '');
    const writers = new Set(lines.map((line) => JSON.parse(line).process));
    assert.deepEqual([...writers].sort(), [1, 2, 'supervisor']);
  });

  await context.test('the audit log is one file with whole lines from all processes', async () => {
    const lines = (await readFile(fixture.path('audit.log'), 'utf8')).split('\n');
    assert.equal(lines.pop(), '');
    const lists = lines.map((line) => JSON.parse(line)).filter(({ verb }) => verb === 'list');
    assert.equal(lists.filter(({ stage }) => stage === 'ResponseComplete').length, 7);
    const files = await readdir(fixture.path('.'));
    assert.deepEqual(
      files.filter((file) => file.startsWith('audit.log')),
      ['audit.log'],
    );
  });
});

test('a second signal ends all processes at once, in the middle of a drain', async (context) => {
  const fixture = await createProcessRouterFixture(context);
  const router = await startProcessRouter(context, fixture, processes, {
    'shutdown-watch-termination-grace-period': ['1h'],
    'shutdown-send-retry-after': ['true'],
  });
  const pids = [...router.pids().values()];
  await openWatch(context, router);
  router.command.signal('SIGTERM');
  await eventually(() => router.command.log().includes('"msg":"Draining"'));
  // Soon after the first it counts as that one heard twice.
  await eventually(() => {
    if (router.command.isRunning()) router.command.signal('SIGINT');
    return !router.command.isRunning();
  });
  assert.equal(await router.command.ended, 130);
  await allEnd(pids);
});

test('a start that fails says why once, as with one process, and leaves nothing behind', async (context) => {
  const fixture = await createProcessRouterFixture(context);
  const taken = ['--processes=2', '--processes=1'].map((flag) =>
    startCommandProcess(context, [
      ...fixture.args({ 'secure-port': [String(fixture.apiServer.port)] }),
      flag,
    ]),
  );
  const codes = await Promise.all(taken.map(({ ended }) => ended));
  assert.deepEqual(codes, [1, 1]);
  const [several = '', one = ''] = taken.map(({ log }) => log());
  assert.match(one, /^error: the router cannot start: 127\.0\.0\.1:\d+ is in use/m);
  assert.equal(several, one);
});
