import assert from 'node:assert/strict';
import { test } from 'node:test';
import { indexedGroupVersions, withGroupVersions } from './read-server.ts';
import { groupVersionsOf } from './sync-server.ts';

const url = '/openapi/v3/x?hash=1';

test('of an OpenAPI v3 index only the paths of group versions count', () => {
  const paths = { api: url, 'api/v1': url, 'apis/apps': url, 'apis/apps/v1': url, 'apis/a/v1/more': url };
  assert.deepEqual(indexedGroupVersions({ kind: 'read', paths }), ['apps/v1']);
});

test('an invalid name of a group or version is not requested', () => {
  const paths = { 'apis/../v1': url, 'apis/a?b/v1': url, 'apis/apps/v1#': url, 'apis/a%2fb/v1': url };
  assert.deepEqual(indexedGroupVersions({ kind: 'read', paths }), []);
});

test('an index that is not there or could not be read names nothing', () => {
  assert.deepEqual(indexedGroupVersions({ kind: 'not-served' }), []);
  assert.deepEqual(indexedGroupVersions({ kind: 'failed', reason: 'too slow' }), []);
});

test('group versions that are not listed come behind those that are, each once', () => {
  const list = { groups: [{ name: 'autoscaling', versions: [{ version: 'v2' }, { version: 'v1' }] }] };
  assert.deepEqual(
    withGroupVersions(list, ['autoscaling/v2', 'autoscaling/v2beta2', 'batch/v1', 'batch/v1']),
    {
      groups: [
        { name: 'autoscaling', versions: [{ version: 'v2' }, { version: 'v1' }, { version: 'v2beta2' }] },
        { name: 'batch', versions: [{ version: 'v1' }] },
      ],
    },
  );
});

test('the group versions of a served set, without the legacy group', () => {
  const discovery = [
    { metadata: {}, versions: [{ version: 'v1' }] },
    { metadata: { name: 'batch' }, versions: [{ version: 'v1' }, { version: 'v1beta1' }] },
  ];
  assert.deepEqual(groupVersionsOf({ discovery }), ['batch/v1', 'batch/v1beta1']);
  assert.deepEqual(groupVersionsOf({}), []);
});
