import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listenAddress, readEdgeConfiguration } from '../../demo/edge/edge-configuration.ts';

const good = {
  apiVersion: 'mixed-version-proxy/v1alpha1',
  kind: 'EdgeConfiguration',
  listen: '0.0.0.0:6443',
  tls: { certFile: 'tls.crt', keyFile: 'tls.key' },
  destinations: { caFile: 'ca.crt' },
  stateDirectory: 'state',
};

function issuesOf(document: unknown): readonly string[] {
  const result = readEdgeConfiguration(document);
  return result.ok ? [] : result.issues.map(({ path }) => path);
}

test('the least configuration is enough', () => {
  const result = readEdgeConfiguration(good);
  assert.ok(result.ok);
  assert.deepEqual(result.configuration.environment, {});
});

test('every error is told at once, each with its path', () => {
  const issues = issuesOf({
    ...good,
    kind: 'Edge',
    listen: '6443',
    tls: { certFile: '', keyFile: 'tls.key', ciphers: 'x' },
    environment: { SERVER_ID: 1 },
  });
  assert.deepEqual([...issues].sort(), [
    'environment.SERVER_ID',
    'kind',
    'listen',
    'tls.certFile',
    'tls.ciphers',
  ]);
});

test('what is missing and what is unknown is told in words, never with a value that may be a key', () => {
  const { tls: _tls, ...rest } = good;
  const result = readEdgeConfiguration({ ...rest, colour: 'red', environment: { TOKEN: 42 } });
  assert.deepEqual(result.ok ? [] : result.issues.map(({ path, message }) => `${path} ${message}`).sort(), [
    'colour is not a field of this object',
    'environment.TOKEN must be text',
    'tls is required',
  ]);
});

test('names that workerd could not bind are errors', () => {
  const named = { ...good, environment: { 'bad-name': 'x' }, environmentFiles: { lower: 'file' } };
  assert.deepEqual(issuesOf(named), ['environment["bad-name"]', 'environmentFiles.lower']);
});

test('half of a front-proxy pair is an error', () => {
  assert.deepEqual(issuesOf({ ...good, destinations: { caFile: 'ca.crt', certFile: 'a' } }), [
    'destinations',
  ]);
});

test('a variable that is given twice is an error', () => {
  const twice = { ...good, environment: { SERVER_ID: 'a' }, environmentFiles: { SERVER_ID: 'file' } };
  assert.deepEqual(issuesOf(twice), ['environmentFiles.SERVER_ID']);
});

test('IPv6 addresses are listened at without their brackets', () => {
  assert.deepEqual(listenAddress({ listen: '[::1]:6443' }), { hostname: '::1', port: 6443 });
  assert.deepEqual(listenAddress({ listen: 'localhost:0' }), { hostname: 'localhost', port: 0 });
});
