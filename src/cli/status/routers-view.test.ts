import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { listedServer, statusView } from '../../../test/support/snapshots/status-view.ts';
import type { RouterStatus } from '../../own-paths/status/status-schema.ts';
import type { RouterOfServer } from './routers-view.ts';
import { agreementOf, differencesBetween } from './routers-view.ts';

const snapshot: RouterStatus['snapshot'] = {
  generation: 1,
  createdAt: '2026-01-01T00:00:00Z',
  old: false,
  source: 'discovery',
  cluster: null,
  extensionApis: [],
  customResourceGroups: [],
};

const router = (host: string, fields: Partial<RouterStatus> = {}): RouterOfServer => ({
  server: `https://${host}`,
  serverId: host,
  error: null,
  status: { ...statusView(host), snapshot, ...fields },
});

const down: RouterOfServer = { server: 'https://c', serverId: 'c', error: 'no response', status: null };

const subjects = (...routers: readonly RouterOfServer[]) =>
  differencesBetween(routers).map(({ subject, values }) => [
    subject,
    ...values.map(({ value, routers }) => `${value}: ${routers.map((name) => name.slice(8)).join()}`),
  ]);

describe('where routers differ', () => {
  it('is in what they know of a server', () => {
    const serves = `sha256:${'0'.repeat(64)}`;
    const first = listedServer({ id: 'x', hostname: 'node-1', version: 'v1.35.0', serves });
    const second = { ...first, version: 'v1.36.0', serves: serves.replace('0', '1') };
    assert.deepEqual(subjects(router('a', { servers: [first] }), router('b', { servers: [second] })), [
      ['server x', 'v1.35.0: a', 'v1.36.0: b'],
      ['what server x serves', 'sha256:00000000: a', 'sha256:10000000: b'],
    ]);
    const departed = { ...first, departedAt: '2026-01-01T00:00:00Z' };
    assert.deepEqual(subjects(router('a', { servers: [first] }), router('b', { servers: [departed] })), [
      ['server x', 'v1.35.0: a', 'departed: b'],
    ]);
    assert.deepEqual(subjects(router('a', { servers: [first] }), router('b')), [
      ['server x', 'v1.35.0: a', 'not known: b'],
      ['what server x serves', 'sha256:00000000: a', 'not known: b'],
    ]);
  });

  it('is in one of two servers of one machine, of which one takes the place of the other', () => {
    const left = listedServer({ id: 'x', hostname: 'node-1', departedAt: '2026-01-01T00:00:00Z' });
    const next = listedServer({ id: 'y', hostname: 'node-1', version: 'v1.36.0' });
    assert.deepEqual(subjects(router('a', { servers: [left, next] }), router('b', { servers: [next] })), [
      ['server x', 'departed: a', 'not known: b'],
    ]);
  });

  it('is in the settings that decide, also while one has no snapshot', () => {
    assert.deepEqual(subjects(router('a', { enabled: false }), router('b', { snapshot: null })), [
      ['feature gate', 'off: a', 'on: b'],
    ]);
  });

  it('is in the version that a setting comes to, which without a snapshot is not known', () => {
    const preferring = (host: string, configured: string, minor: string | null) =>
      router(host, {
        snapshot: minor === null ? null : snapshot,
        preferredVersion: {
          configured,
          minor,
          coming: null,
          enforcementDiffers: false,
        },
      });
    assert.deepEqual(subjects(preferring('a', 'majority', '1.36'), preferring('b', 'majority', null)), []);
    assert.deepEqual(subjects(preferring('a', 'majority', '1.36'), preferring('b', 'oldest', '1.35')), [
      ['preferred version', '1.36: a', '1.35: b'],
    ]);
  });

  it('is in extension APIs and custom resources, each by itself', () => {
    const api = {
      groupVersion: 'metrics.k8s.io/v1beta1',
      service: 'kube-system/metrics-server',
      available: true,
    };
    const first = { ...snapshot, extensionApis: [api], customResourceGroups: ['example.com/v1'] };
    const second = { ...snapshot, extensionApis: [{ ...api, available: false }] };
    assert.deepEqual(subjects(router('a', { snapshot: first }), router('b', { snapshot: second })), [
      [
        'extension API metrics.k8s.io/v1beta1',
        'kube-system/metrics-server: a',
        'kube-system/metrics-server, not available: b',
      ],
      ['custom resources of example.com/v1', 'known: a', 'not known: b'],
    ]);
  });

  it('is not in their generations', () => {
    assert.deepEqual(subjects(router('a'), router('b', { snapshot: { ...snapshot, generation: 9 } })), []);
  });
});

describe('whether routers agree', () => {
  it('is known when all have told what they know', () => {
    const agree = (routers: readonly RouterOfServer[], notAsked: readonly string[] = []) =>
      agreementOf(routers, differencesBetween(routers), notAsked);
    assert.equal(agree([router('a'), router('b')]), true);
    assert.equal(agree([router('a'), router('b', { enabled: false })]), false);
    assert.equal(agree([router('a'), router('b')], ['c']), null);
    assert.equal(agree([router('a'), down]), null);
    assert.equal(agree([router('a'), router('b', { snapshot: null })]), null);
    // The others differ, whatever one does not tell.
    assert.equal(agree([router('a'), router('b', { enabled: false }), down]), false);
  });
});
