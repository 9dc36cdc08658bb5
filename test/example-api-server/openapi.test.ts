import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { arrayAt, objectAt, textAt } from '../../demo/example-api-server/kubernetes-object.ts';
import { readFields } from '../../demo/example-api-server/protobuf/wire.ts';
import { clientOf, createPki, startServer } from './support.ts';

describe('OpenAPI of an example API server', async () => {
  const pki = await createPki();
  const server = await startServer(pki, '1.36');
  const ask = clientOf(server, pki);

  it('v3: the index leads to the document of each group version served, and to no other', async () => {
    const paths = objectAt((await ask('/openapi/v3')).json(), 'paths');
    assert.deepEqual(Object.keys(paths).sort().slice(0, 2), [
      'api/v1',
      'apis/admissionregistration.k8s.io/v1',
    ]);
    for (const [path, entry] of Object.entries(paths)) {
      const url = textAt(entry, 'serverRelativeURL');
      const answer = await ask(url);
      assert.equal(answer.code, 200, path);
      assert.equal(answer.headers['etag'], `"${url.split('hash=')[1]}"`);
    }
    assert.equal((await ask('/openapi/v3/apis/autoscaling/v2beta2')).text, '404 page not found\n');
  });

  it('v3: a document has a schema for each kind, and says what a patch may ask for', async () => {
    const document = (await ask('/openapi/v3/apis/apps/v1')).json();
    const deployment = objectAt(document, 'components', 'schemas', 'io.k8s.api.apps.v1.Deployment');
    assert.deepEqual(deployment['x-kubernetes-group-version-kind'], [
      { group: 'apps', kind: 'Deployment', version: 'v1' },
    ]);
    assert.deepEqual(Object.keys(objectAt(deployment, 'properties')), [
      'apiVersion',
      'kind',
      'metadata',
      'spec',
      'status',
    ]);
    const patch = objectAt(
      document,
      'paths',
      '/apis/apps/v1/namespaces/{namespace}/deployments/{name}',
      'patch',
    );
    const names = arrayAt(patch, 'parameters').map((parameter) => textAt(parameter, 'name'));
    assert.deepEqual(names, ['dryRun', 'fieldManager', 'fieldValidation', 'force']);
  });

  it('v3: every reference has its schema', async () => {
    for (const path of ['/openapi/v3/api/v1', '/openapi/v3/apis/batch/v1']) {
      const { text, json } = await ask(path);
      const schemas = Object.keys(objectAt(json(), 'components', 'schemas'));
      const references = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(
        ([, name]) => name ?? '',
      );
      assert.ok(references.length > 10, path);
      assert.deepEqual(
        [...new Set(references)].filter((name) => !schemas.includes(name)),
        [],
      );
    }
  });

  it('v3: a client that has the document gets 304', async () => {
    const etag = String((await ask('/openapi/v3/api/v1')).headers['etag']);
    const again = await ask('/openapi/v3/api/v1', { headers: { 'if-none-match': etag } });
    assert.equal(again.code, 304);
  });

  it('v2: is one document, in JSON and in protobuf', async () => {
    const json = (await ask('/openapi/v2')).json();
    const names = Object.keys(objectAt(json, 'definitions'));
    assert.ok(names.includes('io.k8s.api.core.v1.Pod'));
    const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
    const answer = await ask('/openapi/v2', { headers: { accept } });
    assert.match(String(answer.headers['content-type']), /proto-openapi\.spec\.v2/);
    const fields = [...readFields(answer.bytes)];
    const text = (value: unknown) => Buffer.from(value as Uint8Array).toString();
    assert.deepEqual(
      fields.map(({ field }) => field),
      [1, 2, 8, 9],
    );
    assert.equal(text(fields[0]?.value), '2.0');
    assert.ok(text(fields[3]?.value).includes('io.k8s.api.core.v1.Pod'));
  });
});
