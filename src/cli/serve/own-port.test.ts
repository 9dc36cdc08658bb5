import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOwnPort, movedServer } from './found-settings.ts';

const listening = { bindAddress: '0.0.0.0', port: 6443 };

const manifest = (...flags: readonly string[]): string =>
  JSON.stringify({ spec: { containers: [{ command: ['kube-apiserver', ...flags] }] } });

test('a server has the port of a router where both listen, be it on one address or on all', () => {
  assert.ok(isOwnPort('https://127.0.0.1:6443', listening));
  assert.ok(isOwnPort('https://10.0.0.1:6443', { ...listening, bindAddress: '10.0.0.1' }));
  assert.ok(!isOwnPort('https://127.0.0.1:6444', listening));
  assert.ok(!isOwnPort('https://127.0.0.1:6443', { ...listening, bindAddress: '10.0.0.1' }));
});

test('a kube-apiserver that stays where the router reaches it has not moved, whatever else its manifest says', () => {
  const inUse = 'https://127.0.0.1:6444';
  assert.equal(
    movedServer(manifest('--secure-port=6443', '--secure-port=6444'), inUse, listening),
    undefined,
  );
  assert.equal(movedServer(manifest('--secure-port=6444', '--v=4'), inUse, listening), undefined);
});

test('a kube-apiserver that is given the port of the router is told with what kubeadm was not given', () => {
  for (const flags of [[], ['--secure-port=6443']]) {
    assert.match(
      movedServer(manifest(...flags), 'https://127.0.0.1:6444', listening) ?? '',
      /^kube-apiserver is to listen on 6443, where the router listens\. .*without --patches/,
    );
  }
});

test('a kube-apiserver that moves to a third port takes a restart of the router', () => {
  assert.equal(
    movedServer(manifest('--secure-port=7443'), 'https://127.0.0.1:6444', listening),
    'kube-apiserver is to listen at https://127.0.0.1:7443, and the router reaches it at https://127.0.0.1:6444: restart the router',
  );
});
