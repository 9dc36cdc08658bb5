import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ExampleStore } from '../../demo/example-api-server/index.ts';
import { clientOf, createPki, failure, startServer } from './support.ts';

const pki = await createPki();
const store = new ExampleStore();
const older = await startServer(pki, '1.26', { store });
const newer = await startServer(pki, '1.36', { store });
const askOlder = clientOf(older, pki, pki.admin);
const askNewer = clientOf(newer, pki, pki.admin);
const group = '/apis/flowcontrol.apiserver.k8s.io';
const schema = (name: string) => ({ metadata: { name }, spec: { matchingPrecedence: 900 } });
/** As kube-apiserver 1.28 says it of a FlowSchema that 1.31 has stored. */
const undecodable = (version: string) =>
  `no kind "FlowSchema" is registered for version "flowcontrol.apiserver.k8s.io/${version}" in scheme "pkg/api/legacyscheme/scheme.go:30"`;

describe('an object that is stored at a version that a server does not know', () => {
  it('fails there with 500, by name and in every list, watch and write; and at no newer server', async () => {
    assert.equal(
      (await askNewer(`${group}/v1/flowschemas`, { method: 'POST', body: schema('new') })).code,
      201,
    );
    const schemas = `${group}/v1beta3/flowschemas`;
    const read = await askOlder(`${schemas}/new`);
    assert.deepEqual(
      [read.code, read.json()],
      [
        500,
        {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: undecodable('v1'),
          code: 500,
        },
      ],
    );
    const body = schema('new');
    for (const [path, request] of [
      [schemas, {}],
      [schemas, { method: 'DELETE' }],
      [`${schemas}/new`, { method: 'PUT', body }],
      [`${schemas}/new`, { method: 'PATCH', body, contentType: 'application/merge-patch+json' }],
      [`${schemas}/new`, { method: 'DELETE' }],
      [`${schemas}/new/status`, {}],
    ] as const) {
      assert.equal((await askOlder(path, request)).code, 500, JSON.stringify([path, request]));
    }
    const watched = await askOlder(`${schemas}?watch=1`);
    assert.deepEqual(JSON.parse(watched.text).object.message, undecodable('v1'));
    assert.equal((await askNewer(`${group}/v1/flowschemas/new`)).code, 200);
    assert.equal((await askNewer(`${group}/v1/flowschemas/new`, { method: 'DELETE' })).code, 200);
    assert.equal((await askOlder(schemas)).code, 200);
  });

  it('is one that another server has stored, whatever version that was asked for in', async () => {
    const body = schema('beta');
    assert.equal((await askOlder(`${group}/v1beta2/flowschemas`, { method: 'POST', body })).code, 201);
    const oldest = clientOf(await startServer(pki, '1.25', { store }), pki, pki.admin);
    const answer = await oldest(`${group}/v1beta2/flowschemas/beta`);
    assert.match(failure(answer), /^500 .*version "flowcontrol\.apiserver\.k8s\.io\/v1beta3" in scheme/);
    // Written anew, it is stored at the version of the server that has written it.
    const labelled = { metadata: { labels: { written: 'anew' } } };
    const patch = { method: 'PATCH', body: labelled, contentType: 'application/merge-patch+json' };
    assert.equal((await askNewer(`${group}/v1/flowschemas/beta`, patch)).code, 200);
    assert.equal((await askOlder(`${group}/v1beta2/flowschemas/beta`)).code, 500);
  });
});
