import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { ExampleStore } from '../../demo/example-api-server/index.ts';
import { arrayAt, numberAt, objectAt, textAt } from '../../demo/example-api-server/kubernetes-object.ts';
import {
  clientOf,
  configMap,
  createPki,
  failure,
  http2ClientOf,
  startServer,
  type TestAnswer,
  type TestRequest,
} from './support.ts';

const pki = await createPki();
const store = new ExampleStore();
const server = await startServer(pki, '1.36', { store });
const ask = clientOf(server, pki, pki.admin);
const configMaps = '/api/v1/namespaces/default/configmaps';
const post = (path: string, request: TestRequest) => ask(path, { ...request, method: 'POST' });

describe('lists', () => {
  const secrets = '/api/v1/namespaces/kube-public/secrets';
  const names = (answer: TestAnswer) =>
    arrayAt(answer.json(), 'items').map((item) => textAt(item, 'metadata', 'name'));

  it('come in pages', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await post(secrets, { body: { metadata: { name } } });
    const first = await ask(`${secrets}?limit=2`);
    assert.deepEqual(names(first), ['a', 'b']);
    assert.equal(numberAt(first.json(), 'metadata', 'remainingItemCount'), 3);
    const token = textAt(first.json(), 'metadata', 'continue');
    const second = await ask(`${secrets}?limit=3&continue=${token}`);
    assert.deepEqual(names(second), ['c', 'd', 'e']);
    assert.equal(textAt(second.json(), 'metadata', 'continue'), '');
    assert.match(failure(await ask(`${secrets}?continue=x`)), /^400 BadRequest continue key is not valid/);
    await post(secrets, { body: { metadata: { name: 'f' } } });
    store.compact();
    assert.match(failure(await ask(`${secrets}?limit=2&continue=${token}`)), /^410 Expired /);
  });

  it('hold what the selectors match', async () => {
    assert.deepEqual(names(await ask(`${secrets}?fieldSelector=metadata.name%3Db`)), ['b']);
    assert.deepEqual(names(await ask(`${secrets}?labelSelector=x`)), []);
    assert.match(failure(await ask(`${secrets}?fieldSelector=data%3Db`)), /field label not supported: data/);
  });

  it('are metadata alone for those who want that', async () => {
    const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
    const list = (await ask(secrets, { headers: { accept } })).json();
    assert.equal(list['kind'], 'PartialObjectMetadataList');
    assert.equal(objectAt(arrayAt(list, 'items')[0])['type'], undefined);
  });

  it('are compressed when they are big and the client takes gzip', async () => {
    await post(configMaps, { body: configMap('big', { text: 'x'.repeat(200_000) }) });
    const session = http2ClientOf(server, pki, pki.admin);
    const request = session.request({ ':path': `${configMaps}/big`, 'accept-encoding': 'gzip' });
    const headers = new Promise<Record<string, unknown>>((resolve) => request.on('response', resolve));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    assert.equal((await headers)['content-encoding'], 'gzip');
    assert.equal(
      textAt(JSON.parse(gunzipSync(Buffer.concat(chunks)).toString()), 'data', 'text').length,
      200_000,
    );
  });
});
