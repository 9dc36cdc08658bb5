import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { mixedSnapshot } from '../../../test/support/routers/router-to-ask.ts';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { statusOf, statusView } from '../../../test/support/snapshots/status-view.ts';
import type { RouterStatus } from '../../own-paths/status/status-schema.ts';
import { statusText } from './status-text.ts';

/** With each text on a line of its own. */
const unwrapped = (text: string) => text.replaceAll(/\n {4,}/g, ' ');

const origin = 'https://10.0.0.7:7443';

describe('the text of status', () => {
  const now = Date.parse('2026-01-01T00:05:00Z');
  const status: RouterStatus = {
    ...statusView(null),
    form: 'gateway',
    serverId: null,
    enabled: true,
    served: statusOf(mixedSnapshot).served,
    snapshot: {
      generation: 42,
      createdAt: '2026-01-01T00:00:00Z',
      old: true,
      source: 'discovery',
      cluster: null,
      extensionApis: [],
      customResourceGroups: [],
    },
    servers: [
      {
        id: 'apiserver-2hb4bhxhxpo2wt5sc7ilxj7wxa',
        hostname: null,
        serves: null,
        local: false,
        address: '10.0.0.1:6443',
        addressSource: 'advertised',
        version: 'v1.25.16',
        stale: true,
        departedAt: null,
        health: { status: 'unreachable', reason: null, since: '2026-01-01T00:03:00Z' },
      },
    ],
    certificates: [
      {
        name: 'kubeconfig',
        path: '/etc/reader.kubeconfig',
        subject: 'CN=sync',
        notBefore: '2025-01-20T00:00:00Z',
        notAfter: '2026-01-20T00:00:00Z',
        daysLeft: 100,
        lastReload: null,
        lastError: null,
      },
    ],
    warnings: [{ message: '--tls-cert-file: it expired \u001b[2J', see: null }],
  };

  it('says of an own snapshot, by the word that rows of routers have, when a server was last read', () => {
    const read = { source: 'reader.kubeconfig', lastReadAt: '2026-01-01T00:04:56Z' };
    const text = statusText({ ...status, embeddedSync: read }, now, false, origin);
    assert.match(text, /^Snapshot: +generation 42, own, /m);
    assert.match(text, /^Read by: +this router, by reader\.kubeconfig, last 4 s ago$/m);
    const none = { ...status, served: null, snapshot: null, embeddedSync: { ...read, lastReadAt: null } };
    const unread = statusText(none, now, false, origin);
    assert.match(unread, /^Read by: +this router, by reader\.kubeconfig: no server has been read yet$/m);
  });

  it('says which certificate or token expires first', () => {
    const text = statusText(status, now, false, origin);
    assert.match(text, /^Expires: +in 18 days: CN=sync in \/etc\/reader\.kubeconfig \(--kubeconfig\)$/m);
  });

  it('names once why the router is not ready', () => {
    const cause = 'the cluster cannot be read: see --peer-ca-file';
    const failures = [{ name: 'snapshot', reason: `there has been no snapshot yet: ${cause}` }];
    const unready = {
      ...status,
      readiness: { ready: false, failures },
      warnings: [cause, 'another one'].map((message) => ({ message, see: null })),
    };
    const text = unwrapped(statusText(unready, now, false, origin));
    assert.equal(text.split(cause).length, 2, text);
    assert.match(text, /^Warnings:\n {2}another one$/m);
  });

  it('does not look for a snapshot while the feature gate is off', () => {
    const text = statusText({ ...status, enabled: false, served: null, snapshot: null }, now, false, origin);
    assert.match(text, /^Snapshot: +not needed: the feature gate is off$/m);
  });

  it('tells of age, expiry, health and warnings', () => {
    const text = statusText(status, now, false, origin);
    assert.match(text, /^Snapshot: +generation 42, pushed, 5 min 0 s old$/m);
    assert.match(text, /^Healthy: +0 of 1$/m);
    assert.match(text, /unreachable 2 min 0 s +stale/);
    assert.match(text, /Warnings:\n {2}--tls-cert-file/);
  });

  it('tells of a server that has departed, and when', () => {
    const servers = status.servers.map((server) => ({ ...server, departedAt: '2026-01-01T00:03:00Z' }));
    const text = statusText({ ...status, servers }, now, false, origin);
    assert.match(text, / departed 2 min 0 s ago$/m);
    assert.doesNotMatch(text, /, stale| stale$/m);
    const healthy = servers.map((server) => ({ ...server, health: { ...server.health, status: 'ready' } }));
    const gone = statusText({ ...status, servers: healthy }, now, false, origin);
    assert.match(gone, /^Healthy: +0 of 1$/m);
  });

  it('names the version that answers while no server of the preferred one is healthy', () => {
    const [server] = status.servers;
    assert.ok(server !== undefined);
    const up = { status: 'ready', reason: null, since: null };
    const preferredVersion = {
      configured: 'newest',
      minor: '1.36',
      coming: null,
      enforcementDiffers: true,
    };
    const version = (servers: RouterStatus['servers']) => {
      const preferring = { ...status, servers, preferredVersion };
      const text = unwrapped(statusText(preferring, now, false, origin));
      return /^Version: +(.*)$/m.exec(text)?.[1];
    };
    const of = (minor: number, changes: Partial<RouterStatus['servers'][number]> = {}) => ({
      ...server,
      id: `cp-${minor}`,
      version: `v1.${minor}.0`,
      health: up,
      ...changes,
    });
    const what =
      '1.36 (newest) should answer every write and every request for a resource whose fields differ';
    assert.equal(
      version([of(25), of(26), of(36)]),
      '1.36 (newest) answers for all: every write, since admission policies differ; and every request for a resource whose fields differ',
    );
    for (const changes of [
      { health: server.health },
      { departedAt: '2026-01-01T00:03:00Z' },
      { address: null },
    ]) {
      const servers = [of(25), of(26), of(36, changes)];
      assert.equal(version(servers), `${what}, but no server of it is healthy: 1.26 answers`);
    }
    const newer = [of(25), of(36, { health: server.health }), of(37)];
    assert.equal(version(newer), `${what}, but no server of it is healthy: 1.37 answers`);
    const nothing = [25, 26, 36].map((minor) => of(minor, { health: server.health }));
    assert.equal(version(nothing), `${what}, but no server is healthy: requests get 503`);
  });

  it('counts servers that have departed among those that are not available', () => {
    const departedAt = '2026-01-01T00:03:00Z';
    const text = (servers: Parameters<typeof snapshotOf>[0]) =>
      statusText(statusOf(snapshotOf(servers)), now, false, origin);
    const left = { version: 'v1.36.0', serves: ['v1/pods'], departedAt };
    const there = { version: 'v1.25.0', serves: ['v1/pods'] };
    assert.match(text({ a: there, b: left }), /^Servers: +1 of 2 servers is not available$/m);
    assert.match(text({ b: left }), /^Servers: +1 of 1 server is not available$/m);
    // Which way an upgrade goes the moment does not tell.
    const next = { ...there, version: 'v1.26.0' };
    const mixed = text({ a: there, b: left, c: next, d: next, e: ['v1/pods'] });
    assert.match(mixed, /^Servers: +1 of unknown version, 1 v1\.25\.0, 2 v1\.26\.0, 1 not available$/m);
  });

  it('has colours where they are asked for, and says the same without', () => {
    const colored = statusText(status, now, true, origin);
    assert.ok(colored.includes('\u001b[31munreachable 2 min 0 s\u001b[39m'));
    assert.equal(stripVTControlCharacters(colored), statusText(status, now, false, origin));
  });

  it('lets no router steer the terminal', () => {
    assert.ok(!statusText(status, now, false, origin).includes('\u001b'));
  });

  it('has the names of machines in place of IDs', () => {
    const [server] = status.servers;
    assert.ok(server !== undefined);
    const nameless = { ...server, id: 'endpoint-10-0-0-2-6443' };
    const both = { ...status, servers: [{ ...server, hostname: 'cp-1' }, nameless] };
    const text = statusText(both, now, false, origin);
    assert.match(text, /^cp-1 +v1\.25\.16 /m);
    assert.match(text, /^endpoint-10-0-0-2-6443 +v1\.25\.16 /m);
  });

  it('names what differs by group, and of very much only a part', () => {
    const text = (count: number) => {
      const serves = Array.from({ length: count }, (_, index) => `apps/v1/things${index}`);
      const servers = { a: { serves: ['v1/pods'], version: 'v1.25.0' }, b: { serves, version: 'v1.36.0' } };
      return statusText(statusOf(snapshotOf(servers)), now, false, origin);
    };
    assert.match(
      text(1),
      /^RESOURCE +v1\.25\.0 +v1\.36\.0\ncore\n {2}v1 pods +yes +-\napps\n {2}v1 things0 +- +yes\n/m,
    );
    assert.match(text(80), /^81 resources in all: -o json, and the status page, have each$/m);
    assert.doesNotMatch(text(20), /in all/);
  });

  it('fits 80 columns, with three versions, hashed IDs and long warnings', () => {
    const ids = Array.from({ length: 12 }, (_, index) => `apiserver-2hb4bhxhxpo2wt5sc7ilxj7w${index}`);
    const many = snapshotOf(
      Object.fromEntries(
        ids.map((id, index) => [
          id,
          {
            serves: ['v1/pods', `a-group-with-a-long-name.example.com/v1/things${index % 3}`],
            version: `v1.${34 + (index % 3)}.0-rc.1`,
            hostname: `control-plane-${index}.example.com`,
          },
        ]),
      ),
    );
    const shown = statusOf(many);
    const text = statusText(
      {
        ...status,
        serverId: ids[0] ?? null,
        served: shown.served,
        servers: shown.servers.map((server) => ({ ...server, local: server.id === ids[0] })),
        warnings: [{ message: `${'a warning that goes on and on, '.repeat(9)}${'x'.repeat(70)}`, see: null }],
      },
      now,
      false,
      origin,
    );
    for (const line of text.split('\n')) assert.ok(line.length <= 80, line);
    for (const version of ['v1.34.0-rc.1', 'v1.36.0-rc.1']) assert.ok(text.includes(version));
    // As people count them.
    assert.ok(text.indexOf('\ncontrol-plane-2.') < text.indexOf('\ncontrol-plane-10.'));
  });

  it('says where the router itself has the guide of a warning', () => {
    const warnings = [
      {
        message: 'a certificate expires',
        see: 'docs/guides/runbooks.md#mixedversionproxycertificateexpiring',
      },
    ];
    const text = unwrapped(statusText({ ...status, warnings }, now, false, origin));
    assert.match(
      text,
      /a certificate expires See https:\/\/10\.0\.0\.7:7443\/\.mixed-version-proxy\/docs\/guides\/runbooks\.md#mixedversionproxycertificateexpiring/,
    );
  });

  it('names what no healthy server serves', () => {
    const [server] = status.servers;
    assert.ok(server !== undefined);
    const servers = ['cp-a', 'cp-b'].map((id) => ({ ...server, id }));
    const up = { status: 'ready', reason: null, since: null };
    const text = (first: typeof up | typeof server.health) =>
      statusText(
        {
          ...status,
          servers: servers.map((one, index) => (index === 0 ? { ...one, health: first } : one)),
        },
        now,
        false,
        origin,
      );
    assert.match(
      text(up),
      /^Down: +no healthy server serves apps\/v1 daemonsets, apps\/v1 deployments: 503$/m,
    );
    assert.match(text(server.health), /^Down: +every API server: requests get 503$/m);
  });

  it('says so when all servers serve the same', () => {
    const alike = snapshotOf({ a: ['v1/pods'], b: ['v1/pods'] });
    assert.match(statusText(statusOf(alike), now, false, origin), /All servers serve the same 1 resource\./);
  });
});
