// The JavaScript client: an informer, and objects that are made and read. Arguments as those of the Go program.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { CoreV1Api, KubeConfig, makeInformer } from '@kubernetes/client-node';
import { newWork, untilSignal } from './work.ts';

const { values } = parseArgs({
  options: { kubeconfig: { type: 'string', default: '' }, namespace: { type: 'string', default: 'default' } },
});
const pause = 150;
const settle = 20_000;

const config = new KubeConfig();
config.loadFromFile(values.kubeconfig);
const api = config.makeApiClient(CoreV1Api);
const { namespace } = values;
const informer = newWork();
const writing = newWork();
const adds = new Map<string, number>();
let isEnding = false;

const configMaps = makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, () =>
  api.listNamespacedConfigMap({ namespace }),
);
configMaps.on('add', (object) => {
  const name = object.metadata?.name ?? '';
  informer.work.done++;
  const times = (adds.get(name) ?? 0) + 1;
  adds.set(name, times);
  if (times > 1) informer.work.duplicates++;
});
// This informer ends with each error: its users start it again (the client's own examples do so).
configMaps.on('error', (error: unknown) => {
  void informer.count(async () => {
    throw error;
  });
  setTimeout(() => {
    if (!isEnding) void configMaps.start().catch(() => {});
  }, 500);
});
await configMaps.start();
const signal = untilSignal();
console.log('ready');

const written: string[] = [];
for (let number = 0; !signal.isOver(); number++) {
  const name = `javascript-${number}`;
  const wasMade = await writing.count(() =>
    api.createNamespacedConfigMap({ namespace, body: { metadata: { name } } }),
  );
  if (wasMade) {
    written.push(name);
    await writing.count(() => api.readNamespacedConfigMap({ namespace, name }));
  }
  await sleep(pause);
}
const missing = () => written.filter((name) => !adds.has(name)).length;
for (const end = Date.now() + settle; Date.now() < end && missing() > 0; ) await sleep(pause);
informer.work.gaps = missing();
isEnding = true;
console.log(JSON.stringify({ informer: informer.work, writing: writing.work }));
process.exit(0);
