import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExampleStore } from '../../demo/example-api-server/index.ts';
import { ApiClient } from '../../scripts/experiment/clients/api-client.ts';
import { configMaps } from '../../scripts/experiment/clients/subjects.ts';
import { Watcher } from '../../scripts/experiment/clients/watcher.ts';
import { requestLabel } from '../../scripts/experiment/clients/writer.ts';
import { Findings } from '../../scripts/experiment/record/findings.ts';
import { missedEvents } from '../../scripts/experiment/record/outcome.ts';
import { SeededRandom } from '../../scripts/experiment/seeded-random.ts';

const made = (name: string, request: string) => ({
  metadata: { name, namespace: 'default', labels: { [requestLabel]: request } },
});

function client(findings: Findings, isServed: boolean): ApiClient {
  return new ApiClient({
    origin: 'https://127.0.0.1:1',
    tls: { ca: '', cert: '', key: '' },
    findings,
    wasServed: () => isServed,
    signal: AbortSignal.abort(),
  });
}

test('an event that a watcher has not seen is lost; what was before it began, or is of others, is not', () => {
  const store = new ExampleStore();
  store.create(configMaps.storage, made('before', '1'));
  const watcher = new Watcher(client(new Findings(), true), new SeededRandom(1), {
    resource: configMaps,
    since: store.revision,
  });
  store.create(configMaps.storage, made('seen', '2'));
  watcher.seen.set(store.revision, 0);
  store.create({ group: '', resource: 'secrets' }, made('of others', '3'));
  store.create(configMaps.storage, made('lost', '4'));
  assert.deepEqual(
    missedEvents(store, [watcher]).map(({ event }) => event.object.metadata.name),
    ['lost'],
  );
});

test('404 and 5xx are wrong only when a server could have answered', () => {
  const judge = (isServed: boolean) => {
    const findings = new Findings();
    const answer = (status: number) => ({ kind: 'answer', status, headers: {}, body: '' }) as const;
    const judging = client(findings, isServed);
    judging.judge({ method: 'GET', path: '/a' }, configMaps, answer(404), 0);
    judging.judge({ method: 'GET', path: '/a' }, configMaps, answer(503), 0);
    judging.judge({ method: 'POST', path: '/a' }, configMaps, answer(503), 0);
    judging.judge({ method: 'GET', path: '/a' }, configMaps, answer(200), 0);
    return findings;
  };
  const served = judge(true);
  assert.deepEqual(
    served.all.map(({ name }) => name),
    ['wrongNotFound', 'readServerErrors', 'writeServerErrors'],
  );
  const gone = judge(false);
  assert.deepEqual(
    gone.all.map(({ name }) => name),
    ['refusedWithoutServer', 'refusedWithoutServer'],
  );
});

test('the same seed draws the same', () => {
  const draw = (seed: number) => {
    const random = new SeededRandom(seed);
    return [random.next(), random.between(5, 10), random.pick(['a', 'b', 'c']), random.fork().next()];
  };
  assert.deepEqual(draw(7), draw(7));
  assert.notDeepEqual(draw(7), draw(8));
});
