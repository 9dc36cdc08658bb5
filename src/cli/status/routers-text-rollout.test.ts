import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statusView } from '../../../test/support/status-view.ts';
import { rolloutText } from './routers-text.ts';
import type { RouterOfServer } from './routers-view.ts';

const router = (server: string, local?: number): RouterOfServer => {
  const value = `https://127.0.0.1:${local}`;
  const source = '--secure-port of kube-apiserver in /etc/kubernetes/manifests/kube-apiserver.yaml';
  const status =
    local === undefined
      ? null
      : { ...statusView(server), found: [{ flag: '--local-server', value, source }] };
  return { server, serverId: server, error: local === undefined ? 'no' : null, status };
};
const textOf = (...[routers, notAsked = []]: Partial<Parameters<typeof rolloutText>>) => {
  const told = rolloutText(routers ?? [], notAsked);
  return typeof told === 'string' ? told : `${told?.style}: ${told?.text}`;
};

test('a control plane is told with the ports of its nodes, and on how many there is a router', () => {
  assert.equal(
    textOf([router('https://10.0.0.1:7443', 6443), router('https://10.0.0.2:7443', 6443)]),
    '2 of 2 nodes: router 7443, kube-apiserver 6443',
  );
  assert.equal(
    textOf([router('https://10.0.0.1:7443', 6443), router('https://10.0.0.2:7443')]),
    'warning: 1 of 2 nodes: router 7443, kube-apiserver 6443; no router found on 10.0.0.2',
  );
  assert.match(textOf([router('https://10.0.0.1:7443', 6443)], ['b']), /^warning: 1 of 2 nodes/);
});

test('half way it is warned of, with the nodes of each step', () => {
  assert.equal(
    textOf([router('https://10.0.0.1:6443', 6444), router('https://10.0.0.2:7443', 6443)]),
    'warning: half way, 2 of 2 nodes: router 6443, kube-apiserver 6444 on 10.0.0.1; router 7443, kube-apiserver 6443 on 10.0.0.2. Finish with install kubeadm --take-port on each node, or go back with --undo',
  );
});

test('of routers that were told where their server is nothing is said', () => {
  assert.equal(rolloutText([{ ...router('https://10.0.0.1:6443'), status: statusView('a') }], []), undefined);
});
