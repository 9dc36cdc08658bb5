import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listResponse, scriptedWatch } from '../../../test/support/api-servers/scripted-watch.ts';
import { manualClock, settle } from '../../../test/support/manual-clock.ts';
import { WatchedCluster } from './cluster-source.ts';

const lease = (renewTime: number) => ({
  metadata: { name: 'kube-apiserver-a', namespace: 'kube-system', resourceVersion: '9' },
  spec: { holderIdentity: 'a', leaseDurationSeconds: 3600, renewTime: new Date(renewTime).toISOString() },
});
const newerLabel = 'apiserver.kubernetes.io%2Fidentity';

test('an idle cluster costs its API servers one list of each kind, and a watch of each in ten minutes', async (context) => {
  const clock = manualClock();
  const script = scriptedWatch();
  script.list = (path) => listResponse(path.includes(newerLabel) ? [lease(clock.now())] : []);
  const paths: string[] = [];
  const source = new WatchedCluster({
    connection: {
      ...script,
      watch(path, signal) {
        paths.push(path);
        return script.watch(path, signal);
      },
      get: (path, ...rest) => script.get(path, ...rest),
    },
    documentsOf: () => undefined,
    listed: [],
    finding: { servingNames: async () => [] },
    clock,
  });
  const controller = new AbortController();
  const running = source.run(controller.signal);
  context.after(() => {
    controller.abort();
    return running;
  });
  await settle();
  const openedAt = new Map<object, number>();
  // As kube-apiserver: a bookmark a minute after a watch began, an end after ten; a Lease is renewed every ten seconds.
  for (let second = 0; second < 3600; second += 10) {
    await clock.advance(10_000);
    for (const [index, watch] of script.watches.entries()) {
      if (watch.isGivenUp()) continue;
      const age = second - (openedAt.get(watch) ?? second);
      openedAt.set(watch, second - age);
      const version = String(100 + second);
      if (paths[index]?.includes(newerLabel) === true) {
        const object = {
          ...lease(clock.now()),
          metadata: { ...lease(0).metadata, resourceVersion: version },
        };
        watch.send({ type: 'MODIFIED', object });
      } else if (age > 0 && age % 60 === 0) {
        watch.send({ type: 'BOOKMARK', object: { metadata: { resourceVersion: version } } });
      }
      if (age >= 600) watch.end();
    }
  }
  context.diagnostic(`in an hour: ${script.lists.length} lists, ${script.watches.length} watches`);
  assert.equal(script.lists.length, 6);
  assert.ok(script.lists.every((path) => path.endsWith('resourceVersion=0')));
  assert.ok(script.watches.length <= 6 * 7, `${script.watches.length} watches`);
});
