import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clientOf, configMap, createPki, failure, pod, startServer } from './support.ts';

const pki = await createPki();
const server = await startServer(pki, '1.36');
const ask = clientOf(server, pki, pki.admin);
const configMaps = '/api/v1/namespaces/default/configmaps';
await ask(configMaps, { method: 'POST', body: configMap('shared') });

describe('failures are worded as Kubernetes words them', () => {
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const cases: readonly (readonly [what: string, path: string, request: object, wanted: string | RegExp])[] =
    [
      [
        'an object that is not there',
        `${configMaps}/nosuch`,
        {},
        '404 NotFound configmaps "nosuch" not found',
      ],
      ['one in a group', `${deployments}/nosuch`, {}, '404 NotFound deployments.apps "nosuch" not found'],
      [
        'an object in a namespace that is not there',
        '/api/v1/namespaces/nowhere/configmaps',
        { method: 'POST', body: configMap('x') },
        '404 NotFound namespaces "nowhere" not found',
      ],
      [
        'a second object of the same name',
        '/api/v1/namespaces',
        { method: 'POST', body: { metadata: { name: 'default' } } },
        '409 AlreadyExists namespaces "default" already exists',
      ],
      [
        'no name',
        configMaps,
        { method: 'POST', body: {} },
        '422 Invalid ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
      ],
      [
        'a name that is none',
        deployments,
        { method: 'POST', body: { metadata: { name: 'Web_1' } } },
        /^422 Invalid Deployment\.apps "Web_1" is invalid: metadata\.name: Invalid value: "Web_1": a lowercase RFC 1123/,
      ],
      [
        'a method that the resource does not have',
        `${configMaps}/x`,
        { method: 'POST', body: {} },
        '405 MethodNotAllowed the server does not allow this method on the requested resource',
      ],
      [
        'creating in all namespaces at once',
        '/api/v1/configmaps',
        { method: 'POST', body: configMap('x') },
        '405 MethodNotAllowed the server does not allow this method on the requested resource',
      ],
      ['a body that is no JSON', configMaps, { method: 'POST', body: '{"a"' }, /^400 BadRequest /],
      ['a body that is no object', configMaps, { method: 'POST', body: '[1]' }, /^400 BadRequest /],
      [
        'a body in an unknown form',
        configMaps,
        { method: 'POST', body: '<a/>', contentType: 'text/xml' },
        /^415 UnsupportedMediaType the body of the request was in an unknown format \(text\/xml\)/,
      ],
      [
        'another kind than that of the URL',
        configMaps,
        { method: 'POST', body: pod('x') },
        /^400 BadRequest Pod in version "v1" cannot be handled as a ConfigMap/,
      ],
      [
        'another name than that of the URL',
        `${configMaps}/shared`,
        { method: 'PUT', body: configMap('other') },
        '400 BadRequest the name of the object (other) does not match the name on the URL (shared)',
      ],
      [
        'another namespace than that of the URL',
        configMaps,
        { method: 'POST', body: { metadata: { name: 'x', namespace: 'kube-system' } } },
        '400 BadRequest the namespace of the provided object does not match the namespace sent on the request',
      ],
      [
        'a patch of an unknown form',
        `${configMaps}/shared`,
        { method: 'PATCH', body: '{}', contentType: 'application/json' },
        /^415 UnsupportedMediaType .*strategic-merge-patch/,
      ],
      [
        'an apply without a manager',
        `${configMaps}/shared`,
        { method: 'PATCH', body: '{}', contentType: 'application/apply-patch+yaml' },
        /^422 Invalid PatchOptions\.meta\.k8s\.io "" is invalid: fieldManager: Required value/,
      ],
      [
        'a form that nobody offers',
        configMaps,
        { headers: { accept: 'text/html' } },
        /^406 NotAcceptable only the/,
      ],
      ['a broken percent sign', '/api/v1/namespaces/default/configmaps/%zz', {}, /^400 BadRequest /],
    ];
  for (const [what, path, request, wanted] of cases) {
    it(what, async () => {
      const said = failure(await ask(path, request));
      if (typeof wanted === 'string') assert.equal(said, wanted);
      else assert.match(said, wanted);
    });
  }

  it('a body that is too large', async () => {
    const answer = await ask(configMaps, { method: 'POST', body: `"${'x'.repeat(3 * 1024 * 1024)}"` });
    assert.equal(failure(answer), '413 RequestEntityTooLarge Request entity too large: limit is 3145728');
  });

  it('the details name what was asked for', async () => {
    const answer = await ask(`${deployments}/nosuch`);
    assert.deepEqual(answer.json()['details'], { name: 'nosuch', group: 'apps', kind: 'deployments' });
  });
});
