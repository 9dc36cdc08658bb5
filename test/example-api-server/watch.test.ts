import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, constants } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { type ExampleApiServer, ExampleStore } from '../../demo/example-api-server/index.ts';
import { type JsonObject, objectAt, textAt } from '../../demo/example-api-server/kubernetes-object.ts';
import { clientOf, configMap, createPki, failure, startServer } from './support.ts';

const pki = await createPki();
const store = new ExampleStore();
const older = await startServer(pki, '1.26', { store });
const newer = await startServer(pki, '1.36', { store, bookmarkIntervalMilliseconds: 20 });
const ask = clientOf(newer, pki, pki.admin);
const configMaps = '/api/v1/namespaces/default/configmaps';

interface WatchStream {
  /** The next event; `undefined` once the stream has ended. */
  next(): Promise<JsonObject | undefined>;
  close(): void;
}

function watch(server: ExampleApiServer, path: string, accept = 'application/json'): Promise<WatchStream> {
  return new Promise((resolve, reject) => {
    const { certificate, privateKey } = pki.admin;
    const request = httpsRequest(
      `${server.url}${path}`,
      { ca: pki.serving.certificate, cert: certificate, key: privateKey, agent: false, headers: { accept } },
      (response) => {
        assert.equal(response.statusCode, 200);
        const lines = createInterface({ input: response })[Symbol.asyncIterator]();
        resolve({
          next: async () => {
            const { value, done } = await lines.next();
            return done === true ? undefined : JSON.parse(value);
          },
          close: () => request.destroy(),
        });
      },
    );
    // Closing from this side is an error of the request, too.
    request.on('error', reject);
    request.end();
  });
}

const brief = (event: JsonObject | undefined): string =>
  `${event?.['type']} ${textAt(event, 'object', 'metadata', 'name')}`;

async function change(method: string, name: string, labels: Record<string, string> = {}): Promise<void> {
  const body = { ...configMap(name), metadata: { name, labels } };
  const path = method === 'POST' ? configMaps : `${configMaps}/${name}`;
  const answer = await ask(path, method === 'DELETE' ? { method } : { method, body });
  assert.ok(answer.code < 300, answer.text);
}

describe('a watch', () => {
  it('brings what happens after its resourceVersion, whichever server it happens through', async () => {
    const { resourceVersion } = objectAt((await ask(configMaps)).json(), 'metadata');
    await change('POST', 'w1');
    const stream = await watch(older, `${configMaps}?watch=true&resourceVersion=${resourceVersion}`);
    assert.equal(brief(await stream.next()), 'ADDED w1');
    await change('PUT', 'w1', { a: 'b' });
    assert.equal(brief(await stream.next()), 'MODIFIED w1');
    await change('DELETE', 'w1');
    assert.equal(brief(await stream.next()), 'DELETED w1');
    stream.close();
  });

  it('begins with what is there when it names no resourceVersion', async () => {
    await change('POST', 'there');
    const stream = await watch(newer, `${configMaps}?watch=1&fieldSelector=metadata.name%3Dthere`);
    assert.equal(brief(await stream.next()), 'ADDED there');
    stream.close();
  });

  it('sees an object come and go as its labels come to match and cease to', async () => {
    const stream = await watch(newer, `${configMaps}?watch=1&labelSelector=in%3Dview`);
    await change('POST', 'labelled');
    await change('PUT', 'labelled', { in: 'view' });
    assert.equal(brief(await stream.next()), 'ADDED labelled');
    await change('PUT', 'labelled', { in: 'view', more: 'x' });
    assert.equal(brief(await stream.next()), 'MODIFIED labelled');
    await change('PUT', 'labelled');
    assert.equal(brief(await stream.next()), 'DELETED labelled');
    stream.close();
  });

  it('stays in its namespace', async () => {
    const stream = await watch(newer, '/api/v1/namespaces/kube-public/configmaps?watch=1');
    await change('POST', 'elsewhere');
    await ask('/api/v1/namespaces/kube-public/configmaps', { method: 'POST', body: configMap('here') });
    assert.equal(brief(await stream.next()), 'ADDED here');
    stream.close();
  });

  it('brings bookmarks to those who allow them', async () => {
    const stream = await watch(
      newer,
      `${configMaps}?watch=1&allowWatchBookmarks=true&resourceVersion=${store.revision}`,
    );
    const bookmark = await stream.next();
    assert.equal(bookmark?.['type'], 'BOOKMARK');
    assert.equal(objectAt(bookmark, 'object')['kind'], 'ConfigMap');
    assert.equal(textAt(bookmark, 'object', 'metadata', 'resourceVersion'), String(store.revision));
    stream.close();
  });

  it('marks the end of the initial events it was asked for', async () => {
    const options = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const stream = await watch(newer, `/api/v1/namespaces?watch=1&${options}`);
    const seen: string[] = [];
    for (let event = await stream.next(); event !== undefined; event = await stream.next()) {
      seen.push(String(event['type']));
      if (event['type'] !== 'BOOKMARK') continue;
      assert.deepEqual(objectAt(event, 'object', 'metadata', 'annotations'), {
        'k8s.io/initial-events-end': 'true',
      });
      break;
    }
    assert.deepEqual(seen, ['ADDED', 'ADDED', 'ADDED', 'ADDED', 'BOOKMARK']);
    stream.close();
  });

  it('is refused with 422 for options that its version does not have, and for those that contradict each other', async () => {
    const refusals = async (server: ExampleApiServer, options: string): Promise<string> => {
      const answer = await clientOf(server, pki, pki.admin)(`/api/v1/namespaces?${options}`);
      return failure(answer);
    };
    const invalid = '422 Invalid ListOptions.meta.k8s.io "" is invalid: ';
    // Parameters that client-go sends for WatchList, which falls back to a list then.
    const watchList =
      'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=';
    assert.equal(
      await refusals(older, watchList),
      `${invalid}[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch, resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided]`,
    );
    assert.equal(
      await refusals(newer, 'watch=1&sendInitialEvents=true'),
      `${invalid}resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan`,
    );
    assert.equal(
      await refusals(newer, 'watch=1&resourceVersionMatch=NotOlderThan'),
      `${invalid}resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided`,
    );
    assert.equal(
      await refusals(newer, 'sendInitialEvents=true'),
      `${invalid}sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list`,
    );
    assert.equal(
      await refusals(older, 'resourceVersionMatch=Newest&resourceVersion=1'),
      `${invalid}resourceVersionMatch: Unsupported value: "Newest": supported values: "Exact", "NotOlderThan", ""`,
    );
  });

  it('ignores sendInitialEvents alone before its version knew it', async () => {
    const stream = await watch(older, '/api/v1/namespaces?watch=1&sendInitialEvents=true');
    assert.equal(brief(await stream.next()), 'ADDED default');
    stream.close();
  });

  it('is too old when what it asks for is forgotten: a 410 in the stream, which then ends', async () => {
    await change('POST', 'forgotten');
    store.compact();
    const stream = await watch(newer, `${configMaps}?watch=1&resourceVersion=2`);
    const event = await stream.next();
    assert.equal(event?.['type'], 'ERROR');
    assert.equal(objectAt(event, 'object')['code'], 410);
    assert.equal(objectAt(event, 'object')['reason'], 'Expired');
    assert.equal(await stream.next(), undefined);
  });

  it('brings Tables to those who want them', async () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const stream = await watch(
      newer,
      '/api/v1/namespaces?watch=1&fieldSelector=metadata.name%3Ddefault',
      accept,
    );
    const event = await stream.next();
    assert.equal(objectAt(event, 'object')['kind'], 'Table');
    stream.close();
  });

  it('follows one object under the old path', async () => {
    const stream = await watch(newer, '/api/v1/watch/namespaces/kube-system');
    assert.equal(brief(await stream.next()), 'ADDED kube-system');
    stream.close();
  });

  it('ends at its time', async () => {
    const stream = await watch(
      newer,
      `${configMaps}?watch=1&timeoutSeconds=1&resourceVersion=${store.revision}`,
    );
    assert.equal(await stream.next(), undefined);
  });

  it('ends when its group version is turned off', async () => {
    const stream = await watch(newer, '/apis/batch/v1/jobs?watch=1');
    newer.setGroupVersion('batch/v1', false);
    assert.equal(await stream.next(), undefined);
    newer.setGroupVersion('batch/v1', true);
  });

  it('ends whole over HTTP/2 when something changes right behind its end', async () => {
    const { certificate, privateKey } = pki.admin;
    const session = connect(newer.url, { ca: pki.serving.certificate, cert: certificate, key: privateKey });
    const path = `/apis/batch/v1/jobs?watch=1&resourceVersion=${store.revision}`;
    const stream = session.request({ ':path': path });
    await once(stream, 'response');
    const closed = once(stream.on('error', () => {}).resume(), 'close');
    newer.setGroupVersion('batch/v1', false);
    store.create(
      { group: 'batch', resource: 'jobs' },
      { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'behind', namespace: 'default' } },
    );
    await closed;
    session.close();
    newer.setGroupVersion('batch/v1', true);
    assert.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR);
  });

  it('ends when the server stops', async () => {
    const stopped = await startServer(pki, '1.36', { store, name: 'stopped' });
    const stream = await watch(stopped, `${configMaps}?watch=1&resourceVersion=${store.revision}`);
    await stopped.close();
    assert.equal(await stream.next(), undefined);
  });

  it('is refused for a resourceVersion that is no number', async () => {
    assert.equal((await ask(`${configMaps}?watch=1&resourceVersion=abc`)).code, 400);
  });
});
