import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRequestInfo } from './request-info.ts';
import { isLongRunning } from './subresources.ts';

const longRunning = (method: string, target: string) => isLongRunning(parseRequestInfo(method, target));

test('watches are long-running, by query and by path', () => {
  assert.equal(longRunning('GET', '/api/v1/pods?watch=1'), true);
  assert.equal(longRunning('GET', '/api/v1/watch/pods'), true);
  assert.equal(longRunning('GET', '/api/v1/pods?watch=0'), false);
  assert.equal(longRunning('POST', '/api/v1/pods?watch=1'), false);
});

test('requests proxied to pods, services and nodes are long-running', () => {
  assert.equal(longRunning('GET', '/api/v1/proxy/nodes/n/stats'), true);
  assert.equal(longRunning('DELETE', '/api/v1/namespaces/ns/services/s/proxy/a/b'), true);
});

test('streaming subresources are long-running, others are not', () => {
  for (const subresource of ['attach', 'exec', 'proxy', 'log', 'portforward']) {
    assert.equal(longRunning('GET', `/api/v1/namespaces/ns/pods/p/${subresource}`), true, subresource);
  }
  for (const subresource of ['status', 'eviction', 'Log', 'ephemeralcontainers']) {
    assert.equal(longRunning('GET', `/api/v1/namespaces/ns/pods/p/${subresource}`), false, subresource);
  }
});

test('profiles are long-running, other non-resource paths are not', () => {
  assert.equal(longRunning('GET', '/debug/pprof/profile?seconds=300'), true);
  assert.equal(longRunning('GET', '/debug/pprof'), false);
  assert.equal(longRunning('GET', '/healthz/log'), false);
});
