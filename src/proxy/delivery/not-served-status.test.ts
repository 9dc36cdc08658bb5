import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isNotServedStatus, notServedStatus } from './not-served.ts';

const json = 'application/json';
const protobuf = 'application/vnd.kubernetes.protobuf';
const deployment = { apiGroup: 'apps', resource: 'deployments', subresource: '', name: 'web' };

/** The Status of an object that does not exist, as API servers write it. */
function objectNotFound(resource: string, group: string, name: string): string {
  const details = group === '' ? { name, kind: resource } : { name, group, kind: resource };
  return `${JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `${resource}${group === '' ? '' : `.${group}`} "${name}" not found`,
    reason: 'NotFound',
    details,
    code: 404,
  })}\n`;
}

test('the Status of a path that a server does not serve is known by its length in both forms of clients', () => {
  for (const name of ['', 'web']) {
    const request = { ...deployment, name };
    assert.equal(isNotServedStatus(request, json, String(notServedStatus.length)), 'yes');
    assert.equal(isNotServedStatus(request, `${json}; charset=utf-8`, String(notServedStatus.length)), 'yes');
    assert.equal(isNotServedStatus(request, protobuf, '116'), 'yes');
  }
});

test('the Status of an object that does not exist is never taken for it, whatever its length', () => {
  for (const [resource, apiGroup] of [
    ['pods', ''],
    ['configmaps', ''],
    ['events', ''],
    ['deployments', 'apps'],
    ['horizontalpodautoscalers', 'autoscaling'],
    ['jobs', 'batch'],
    ['roles', 'rbac.authorization.k8s.io'],
  ] as const) {
    for (let length = 1; length <= 63; length++) {
      const request = { apiGroup, resource, subresource: '', name: 'x'.repeat(length) };
      const body = objectNotFound(resource, apiGroup, request.name);
      assert.notEqual(isNotServedStatus(request, json, String(body.length)), 'yes', `${resource} ${length}`);
    }
  }
});

test('an object whose NotFound Status in protobuf has just that length is perhaps one that does not exist', () => {
  // As 1.33 answers: 114 bytes for the deployment x.
  assert.equal(isNotServedStatus({ ...deployment, name: 'x' }, protobuf, '114'), 'no');
  assert.equal(isNotServedStatus({ ...deployment, name: 'xy' }, protobuf, '116'), 'perhaps');
  // What nobody has named cannot be missing.
  assert.equal(isNotServedStatus({ ...deployment, name: '' }, protobuf, '116'), 'yes');
});

test('the Status of a namespace that does not exist, as a create meets it, is never as long', () => {
  for (let length = 1; length <= 63; length++) {
    const name = 'x'.repeat(length);
    assert.notEqual(objectNotFound('namespaces', '', name).length, notServedStatus.length);
    const inProtobuf = isNotServedStatus(
      { apiGroup: '', resource: 'namespaces', subresource: '', name },
      protobuf,
      '116',
    );
    assert.equal(inProtobuf, 'yes', 'not perhaps: its own Status has another length');
  }
});

test('what a kubelet or an application says, other forms and names that are written in other words are left alone', () => {
  const length = String(notServedStatus.length);
  for (const subresource of ['log', 'exec', 'attach', 'portforward', 'proxy']) {
    assert.equal(isNotServedStatus({ ...deployment, subresource }, json, length), 'no');
  }
  assert.equal(isNotServedStatus({ ...deployment, subresource: 'eviction' }, json, length), 'yes');
  assert.equal(isNotServedStatus({ ...deployment, name: 'a<b' }, json, length), 'no');
  assert.equal(isNotServedStatus(deployment, 'application/yaml', '154'), 'no');
  assert.equal(isNotServedStatus(deployment, json, ''), 'no');
});
