import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { noRequestInfo } from '../../test/support/request-info.ts';
import { parseRequestInfo, type RequestInfo } from './request-info.ts';
import { RequestInfoError } from './request-info-error.ts';

/** The fields of request info that `expected` names. */
function assertRequestInfo(method: string, target: string, expected: Partial<RequestInfo>): void {
  const requestInfo = parseRequestInfo(method, target);
  assert.deepEqual({ ...requestInfo, ...expected }, requestInfo, `${method} ${target}`);
}

describe('a request that names no resource', () => {
  test('has its path and its method in lower case, and noRequestInfo else', () => {
    assert.deepEqual(parseRequestInfo('GET', '/healthz?verbose'), {
      ...noRequestInfo,
      path: '/healthz',
      verb: 'get',
    });
    assert.deepEqual(parseRequestInfo('OPTIONS', ''), { ...noRequestInfo, verb: 'options' });
  });

  test('is one with fewer than three segments, or another prefix', () => {
    for (const target of [
      ...['/', '/api', '/api/', '/api/v1', '/api/v1/', '/apis', '/apis/apps', '/version', '/metrics'],
      ...['/openapi/v3/apis/apps/v1', '/API/v1/pods', '/Apis/apps/v1/deployments', '/batch/v1/jobs'],
    ]) {
      assertRequestInfo('GET', target, { ...noRequestInfo, path: target, verb: 'get' });
    }
  });

  test('keeps the prefix apis of a group version document, as upstream does', () => {
    assertRequestInfo('GET', '/apis/apps/v1', {
      ...noRequestInfo,
      path: '/apis/apps/v1',
      verb: 'get',
      apiPrefix: 'apis',
    });
  });
});

describe('a resource path', () => {
  test('of the legacy group names version, resource, name and subresource', () => {
    assert.deepEqual(parseRequestInfo('PUT', '/api/v1/nodes/n/status?dryRun=All'), {
      ...noRequestInfo,
      isResourceRequest: true,
      path: '/api/v1/nodes/n/status',
      verb: 'update',
      apiPrefix: 'api',
      apiVersion: 'v1',
      resource: 'nodes',
      name: 'n',
      subresource: 'status',
      parts: ['nodes', 'n', 'status'],
    });
  });

  test('of another group names the group too, and the namespace', () => {
    assert.deepEqual(parseRequestInfo('GET', '/apis/apps/v1/namespaces/ns/deployments/d/scale'), {
      ...noRequestInfo,
      isResourceRequest: true,
      path: '/apis/apps/v1/namespaces/ns/deployments/d/scale',
      verb: 'get',
      apiPrefix: 'apis',
      apiGroup: 'apps',
      apiVersion: 'v1',
      namespace: 'ns',
      resource: 'deployments',
      name: 'd',
      subresource: 'scale',
      parts: ['deployments', 'd', 'scale'],
    });
  });

  test('keeps what follows the subresource in its parts', () => {
    assertRequestInfo('GET', '/api/v1/nodes/n/proxy/a/b', {
      subresource: 'proxy',
      parts: ['nodes', 'n', 'proxy', 'a', 'b'],
    });
  });

  test('loses the slashes at its ends and keeps empty segments in between', () => {
    assertRequestInfo('GET', '//api/v1/pods/a/', { path: '//api/v1/pods/a/', resource: 'pods', name: 'a' });
    assertRequestInfo('GET', '/api//v1/pods', { apiVersion: '', resource: 'v1', name: 'pods' });
    assertRequestInfo('GET', '/api/v1//pods', { resource: '', name: 'pods', parts: ['', 'pods'] });
    assertRequestInfo('GET', '/api/v1/pods//log', { verb: 'list', name: '', subresource: 'log' });
  });

  test('is split after decoding, so an encoded slash separates segments', () => {
    assertRequestInfo('GET', '/api/v1/namespaces/ns%2Fsecrets/a', {
      namespace: 'ns',
      resource: 'secrets',
      name: 'a',
      path: '/api/v1/namespaces/ns/secrets/a',
    });
    assertRequestInfo('GET', '/api/v1/w%61tch/pods', { verb: 'watch', resource: 'pods' });
  });
});

test('the verb follows from the method, which is case-sensitive', () => {
  const verbs = { POST: 'create', GET: 'get', HEAD: 'get', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };
  for (const [method, verb] of Object.entries(verbs)) assertRequestInfo(method, '/api/v1/pods/a', { verb });
  for (const method of ['OPTIONS', 'get', 'CONNECT'])
    assertRequestInfo(method, '/api/v1/pods/a', { verb: '' });
});

describe('a verb in the path', () => {
  test('stands, whatever the method', () => {
    for (const method of ['GET', 'DELETE', 'OPTIONS']) {
      assertRequestInfo(method, '/api/v1/watch/namespaces/ns/pods/a', {
        verb: 'watch',
        namespace: 'ns',
        name: 'a',
      });
      assertRequestInfo(method, '/apis/apps/v1/proxy/x', { verb: 'proxy', resource: 'x' });
    }
  });

  test('is none in another place or another case', () => {
    assertRequestInfo('GET', '/api/v1/Watch/pods', { resource: 'Watch', name: 'pods' });
    assertRequestInfo('GET', '/apis/watch/v1/pods/a', { apiGroup: 'watch', verb: 'get' });
    assertRequestInfo('GET', '/api/v1/namespaces/ns/watch/a', { resource: 'watch', verb: 'get' });
  });

  test('proxy leaves no subresource, watch does', () => {
    assertRequestInfo('GET', '/api/v1/proxy/nodes/n/stats', {
      subresource: '',
      parts: ['nodes', 'n', 'stats'],
    });
    assertRequestInfo('GET', '/api/v1/watch/nodes/n/stats', { subresource: 'stats' });
  });

  test('takes no selector from the query, as such requests do not reliably honour them', () => {
    assertRequestInfo('GET', '/api/v1/watch/pods?labelSelector=a&fieldSelector=metadata.name%3Db', {
      verb: 'watch',
      name: '',
      fieldSelector: '',
      labelSelector: '',
    });
  });

  test('with noRequestInfo behind it leaves the resource undetermined, in the words of kube-apiserver', () => {
    for (const target of ['/api/v1/watch', '/api/v1/proxy/', '/apis/apps/v1/watch?watch=1']) {
      assert.throws(
        () => parseRequestInfo('GET', target),
        (error) =>
          error instanceof RequestInfoError &&
          error.code === 'UnableToDetermineResource' &&
          error.message === `unable to determine kind and namespace from url, ${target}`,
      );
    }
  });
});

describe('namespaces', () => {
  test('alone is the resource', () => {
    assertRequestInfo('GET', '/api/v1/namespaces', {
      verb: 'list',
      resource: 'namespaces',
      namespace: '',
      name: '',
    });
  });

  test('with a name is that namespace, in it', () => {
    for (const [target, subresource] of [
      ['/api/v1/namespaces/ns', ''],
      ['/api/v1/namespaces/ns/status', 'status'],
      ['/api/v1/namespaces/ns/finalize', 'finalize'],
      ['/apis/apps/v1/namespaces/ns/status', 'status'],
    ] as const) {
      assertRequestInfo('GET', target, { resource: 'namespaces', namespace: 'ns', name: 'ns', subresource });
    }
  });

  test('with a name and anything else is that, in the namespace', () => {
    assertRequestInfo('GET', '/api/v1/namespaces/ns/Status', {
      resource: 'Status',
      namespace: 'ns',
      name: '',
    });
    assertRequestInfo('GET', '/api/v1/namespaces/ns/namespaces/x', { resource: 'namespaces', name: 'x' });
    assertRequestInfo('GET', '/api/v1/namespaces//pods/a', { resource: 'pods', namespace: '', name: 'a' });
  });
});

describe('a collection', () => {
  test('is listed, watched or deleted', () => {
    assertRequestInfo('GET', '/api/v1/pods', { verb: 'list' });
    assertRequestInfo('HEAD', '/api/v1/pods?limit=500', { verb: 'list' });
    assertRequestInfo('GET', '/api/v1/pods?watch=true', { verb: 'watch' });
    assertRequestInfo('DELETE', '/api/v1/pods?watch=true', { verb: 'deletecollection' });
    assertRequestInfo('POST', '/api/v1/pods?watch=true', { verb: 'create' });
  });

  test('becomes one object through an exact match on its name, but not when it is deleted', () => {
    const query = '?fieldSelector=metadata.name%3Da';
    assertRequestInfo('GET', `/api/v1/pods${query}`, { verb: 'list', name: 'a' });
    assertRequestInfo('GET', `/api/v1/pods${query}&watch`, { verb: 'watch', name: 'a' });
    assertRequestInfo('DELETE', `/api/v1/pods${query}`, { verb: 'deletecollection', name: '' });
  });

  test('keeps its selectors as they were sent, also when its options cannot be converted', () => {
    for (const [method, query] of [
      ['GET', '?fieldSelector=metadata.name%3D%3Da&labelSelector=b+in+%28c%29'],
      ['GET', '?fieldSelector=metadata.name%3D%3Da&labelSelector=b+in+%28c%29&limit=x&watch=1'],
      ['DELETE', '?labelSelector=b%20in%20(c)&fieldSelector=metadata.name%3D%3Da&labelSelector=z'],
    ] as const) {
      const selectors = { fieldSelector: 'metadata.name==a', labelSelector: 'b in (c)' };
      assertRequestInfo(method, `/api/v1/pods${query}`, selectors);
    }
    assertRequestInfo('GET', '/api/v1/pods?labelSelector=%3D&fieldSelector=%3D%3D%3D', {
      verb: 'list',
      fieldSelector: '===',
      labelSelector: '=',
    });
  });

  test('is the only thing that has selectors', () => {
    const query = '?fieldSelector=a%3Db&labelSelector=c';
    for (const [method, path] of [
      ['GET', '/api/v1/pods/a'],
      ['DELETE', '/api/v1/pods/a'],
      ['POST', '/api/v1/pods'],
      ['GET', '/api/v1'],
    ] as const) {
      assertRequestInfo(method, path + query, { fieldSelector: '', labelSelector: '' });
    }
  });
});

test('an ambiguous target is refused before anything is read from it', () => {
  for (const target of [
    '/api/v1/namespaces/%2e%2e/pods',
    '/api/v1\\pods',
    'https://evil.example/api/v1/pods',
  ]) {
    assert.throws(
      () => parseRequestInfo('GET', target),
      (error) => error instanceof RequestInfoError && error.code === 'AmbiguousRequestTarget',
    );
  }
});
