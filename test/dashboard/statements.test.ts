import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { AppParts } from '../../src/app.ts';
import type { AppOptions } from '../../src/own-app.ts';
import { RouterHistory } from '../../src/own-paths/history/router-history.ts';
import { ServerBook } from '../../src/servers/server-book.ts';
import type { Snapshot } from '../../src/snapshot/format/schema.ts';
import { buildRoutingTable } from '../../src/snapshot/routing-table/build-routing-table.ts';
import { testApp, userConnection } from '../support/routers/test-app.ts';
import { type ServerOptions, snapshotOf } from '../support/snapshots/snapshot-builder.ts';

const page = 'https://router.test/.mixed-version-proxy/';
const connection = userConnection('admin', ['system:masters']);
const now = Date.parse('2026-01-31T12:00:00Z');

interface Shown
  extends Partial<
    Pick<AppOptions & AppParts, 'enabled' | 'preferredVersion' | 'history' | 'embeddedSync' | 'local'>
  > {
  readonly snapshot?: Snapshot;
  /** IDs of servers that are unreachable. */
  readonly down?: readonly string[];
  readonly path?: string;
}

/** The page as text: tags become spaces. */
async function shown({ down = [], path = '', ...options }: Shown): Promise<string> {
  const health = new ServerBook({ rise: 1, fall: 1, monotonic: () => 0 });
  for (const { id } of options.snapshot?.servers ?? []) {
    health.follow(id);
    health.probed(id, down.includes(id) ? 'unreachable' : 'ready');
  }
  const { app } = await testApp({ ...sidecar, connection, health, clock: () => now, ...options });
  return plainText(await (await app.fetch(new Request(page + path))).text());
}

function plainText(markup: string): string {
  return markup
    .replace(/<(style|script)>.*?<\/\1>/gs, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');
}

/** In front of `cp-a`. */
const sidecar: Pick<AppOptions, 'local'> = {
  local: {
    kind: 'local',
    id: 'cp-a',
    origin: 'https://127.0.0.1:6444',
    serverName: 'kubernetes.default.svc',
    trust: { kind: 'peer-ca' },
  },
};
const explain = (target: string) => `?method=GET&url=${encodeURIComponent(target)}`;
const createdAt = new Date(now).toISOString();
const old = { createdAt: '2026-01-31T10:00:00Z' };
const differing = (options: Parameters<typeof snapshotOf>[1] = { createdAt }) =>
  snapshotOf(
    {
      'cp-a': { serves: ['v1/pods'], version: 'v1.35.0', hostname: 'control-plane-10' },
      'cp-b': { serves: ['v1/pods', 'batch/v1/jobs'], version: 'v1.36.0', hostname: 'control-plane-2' },
      'cp-c': { serves: ['v1/pods'], version: 'v1.35.0', hostname: 'control-plane-1' },
    },
    options,
  );

/** Servers of three versions that understand jobs differently and enforce different policies. */
const threeVersions = (
  newest: Partial<ServerOptions> = {},
  options: Parameters<typeof snapshotOf>[1] = { createdAt },
) => {
  const policies = 'admissionregistration.k8s.io/v1/validatingadmissionpolicies';
  const server = (minor: number, ...more: readonly string[]): ServerOptions => ({
    serves: ['v1/pods', 'batch/v1/jobs', ...more],
    version: `v1.${minor}.0`,
    schemas: { 'batch.jobs': { v1: btoa(`min-1.${minor}`) } },
  });
  return snapshotOf(
    {
      'cp-25': server(25, 'batch/v1beta1/cronjobs'),
      'cp-26': server(26, 'batch/v1beta1/cronjobs'),
      'cp-36': { ...server(36, 'resource.k8s.io/v1/deviceclasses', policies), ...newest },
    },
    options,
  );
};

describe('what the status page says of an upgrade', () => {
  it('is where requests really go', async () => {
    const routed = /1 resource is not served by every server; requests for it go to one that does\./;
    assert.match(await shown({ snapshot: differing() }), routed);
    const late = await shown({ snapshot: differing(old) });
    assert.match(late, routed);
    assert.match(late, /The router is ready\. 1\.35 → 1\.36: 1 of 3 servers\. The snapshot is old\./);
    assert.match(late, /the snapshot is 2 h 0 min old, and still used/);
    const off = await shown({ snapshot: differing(), enabled: false });
    assert.match(off, /not served by every server\./);
    assert.match(off, /is off: every request goes to the local server\./);
  });

  it('is no upgrade when a version is not known', async () => {
    const one = snapshotOf({ 'cp-a': { serves: ['v1/pods'] } }, { createdAt });
    const text = await shown({ snapshot: one });
    assert.match(
      text,
      /1 server, of unknown version Version not known 1 server Whether an upgrade is in progress is not known/,
    );
    const two = snapshotOf(
      { 'cp-a': { serves: ['v1/pods'], version: 'v1.36.0' }, 'cp-b': ['v1/pods'] },
      { createdAt },
    );
    assert.match(await shown({ snapshot: two }), /v1\.36\.0, and 1 server of unknown version/);
    assert.doesNotMatch(await shown({ snapshot: two }), /→/);
  });

  it('names what no healthy server serves, and promises no peer for it', async () => {
    const options = { snapshot: differing(), down: ['cp-b'] };
    const text = await shown(options);
    assert.match(
      text,
      /No healthy server 1 resource is served by no healthy server: requests for it get 503\. jobs batch\/v1/,
    );
    const explained = await shown({ ...options, path: explain('/apis/batch/v1/jobs') });
    assert.match(
      explained,
      /Gets 503: no server that serves it is healthy\. .* control-plane-2 \(cp-b\) [^ ]+ as [^ ]+, unreachable Note: no server that could serve it is healthy: unless one is back the response is 503/,
    );
    assert.match(
      await shown({ ...options, down: ['cp-a', 'cp-b', 'cp-c'] }),
      /Every API server is down or cannot be reached/,
    );
    assert.doesNotMatch(await shown({ ...options, down: ['cp-a'] }), /No healthy server/);
  });

  it('promises no server for what no healthy server serves', async () => {
    const options = { snapshot: threeVersions(), down: ['cp-36'] };
    const text = await shown(options);
    assert.match(text, /2 resources are served by no healthy server: requests for them get 503\./);
    assert.match(text, /3 resources are not served by every server\./);
    assert.doesNotMatch(text, /go to one that does/);
    const nothing = await shown({ ...options, down: ['cp-25', 'cp-26', 'cp-36'] });
    assert.match(nothing, /1\.25 → 1\.36: 1 of 3 servers, 3 not available\./);
    assert.match(nothing, /Every API server is down or cannot be reached: requests get 503\./);
    assert.doesNotMatch(nothing, /go to one that does/);
    const healthy = await shown({ ...options, down: [] });
    assert.match(healthy, /requests for them go to one that does\./);
    assert.doesNotMatch(healthy, /get 503/);
    // With the gate off nothing but the local server is asked.
    const off = await shown({ ...options, enabled: false });
    assert.match(off, /2 resources are served by no healthy server\./);
    assert.doesNotMatch(off, /get 503|go to one that does/);
  });

  it('counts servers that have departed apart', async () => {
    const text = await shown({ snapshot: threeVersions({ departedAt: createdAt }) });
    assert.match(text, /The router is ready\. 1\.25 → 1\.26: 1 of 3 servers, 1 not available\./);
    assert.match(text, /v1\.26\.0 1 server 1 server away Away cp-36 Stop no server now/);
    const gone = await shown({
      snapshot: snapshotOf({ 'cp-b': { serves: ['v1/pods'], departedAt: createdAt } }, { createdAt }),
    });
    assert.match(gone, /1 of 1 server is not available/);
  });

  it('says as of when it is, and shows no section that has nothing to show', async () => {
    const text = await shown({});
    assert.match(text, /ready\. There has been no snapshot yet\./);
    assert.match(text, /As of 12:00:00 UTC/);
    assert.doesNotMatch(text, /What differs|generation/i);
  });

  it('says how far it is, and which server can be stopped next', async () => {
    let time = now - 600_000;
    const history = new RouterHistory({ preferredMinor: () => undefined, clock: () => time });
    const policies = 'admissionregistration.k8s.io/v1/mutatingadmissionpolicies';
    const cluster = (...minors: readonly number[]) => {
      const servers = minors.map((minor, index): [string, ServerOptions] => [
        `cp-${index + 1}`,
        {
          serves: ['v1/pods', minor === 36 ? policies : 'scheduling.k8s.io/v1alpha1/workloads'],
          version: `v1.${minor}.0`,
        },
      ]);
      const snapshot = snapshotOf(Object.fromEntries(servers), { createdAt });
      history.tableInUse(buildRoutingTable(snapshot));
      return { snapshot, history };
    };
    const before = await shown(cluster(35, 35, 35));
    assert.match(before, /All 3 servers run v1\.35\.0 .* Every server serves the same\./);
    assert.doesNotMatch(before, /safe to stop/i);
    time = now - 300_000;
    const first = await shown(cluster(35, 35, 36));
    assert.match(first, /1\.35 → 1\.36: 1 of 3 servers/);
    assert.match(first, /Safe to stop next: cp-1 \. Others serve all that it serves\./);
    assert.match(first, /cp-1 writes go here safe to stop next/);
    time = now - 60_000;
    const last = await shown(cluster(35, 36, 36));
    assert.match(last, /1\.35 → 1\.36: 2 of 3 servers/);
    assert.match(last, /Stop next: cp-1 \. Only it serves 1 resource, which goes away with it\./);
    const away = await shown({ ...cluster(35, 36, 36), down: ['cp-2'] });
    assert.match(away, /Unreachable cp-2 Stop no server now/);
    time = now;
    const done = await shown(cluster(36, 36, 36));
    assert.match(done, /All 3 servers run v1\.36\.0/);
    const dead = await shown({ ...cluster(36, 36, 36), down: ['cp-2', 'cp-3'] });
    assert.match(dead, /2 of 3 servers are not available/);
    assert.doesNotMatch(dead, /All 3 servers run|Every server serves the same/);
    time = now + 60_000;
    assert.match(await shown(cluster(36, 35, 36)), /1\.36 → 1\.35: 1 of 3 servers/, 'back');
  });
});

describe('an explanation on the status page', () => {
  const snapshot = differing();

  it('is what explain prints, with the host names of servers beside their IDs', async () => {
    const text = await shown({ snapshot, path: explain('/apis/batch/v1/jobs') });
    assert.match(
      text,
      /Goes to control-plane-2 \(1\.36\): control-plane-10 does not serve the resource\. Request: GET \/apis\/batch\/v1\/jobs .* Seen from: control-plane-10 \(cp-a\) /,
    );
    assert.match(text, /served by control-plane-2; local is control-plane-10/);
    assert.match(text, /Candidates: control-plane-2 \(cp-b\) [^ ]+ as kubernetes\.default\.svc, ready/);
    assert.match(
      await shown({ snapshot, path: explain('/api/v1/pods') }),
      /Goes to control-plane-10 \(1\.35\): it serves the resource\. Request: /,
    );
  });

  it('calls a 404 a 404, and a 503 a 503', async () => {
    const noteOf = async (target: string, options: Shown = {}) =>
      / Note: (.*?) (?:Note:|If the router)/.exec(
        await shown({ snapshot, ...options, path: explain(target) }),
      )?.[1];
    assert.equal(
      await noteOf('/apis/example.com/v1/nosuch'),
      'the response is the 404 of the server that is asked',
    );
    assert.equal(await noteOf('/api/v1/pods'), undefined);
    const off = { enabled: false };
    assert.match(
      await shown({ snapshot, ...off, path: explain('/api/v1/pods') }),
      /Goes to control-plane-10 \(1\.35\): the feature gate is off\./,
    );
    const down = 'no server that could serve it is healthy: unless one is back the response is 503';
    const alone = { snapshot: snapshotOf({ 'cp-a': ['v1/pods'] }, { createdAt }), down: ['cp-a'] };
    assert.equal(await noteOf('/api/v1/pods', alone), down);
    assert.equal(await noteOf('/apis/batch/v1/jobs', { down: ['cp-b'] }), down);
    const apiServices = [
      {
        group: 'metrics.k8s.io',
        version: 'v1beta1',
        service: { namespace: 'kube-system', name: 'metrics' },
        available: false,
      },
    ];
    const extended = snapshotOf({ 'cp-a': ['v1/pods'] }, { createdAt, apiServices });
    assert.equal(
      await noteOf('/apis/metrics.k8s.io/v1beta1/nodes', { snapshot: extended }),
      'its extension API server is not available: the response is 503',
    );
    const departed = snapshotOf(
      { 'cp-a': ['v1/pods'], 'cp-b': { serves: ['batch/v1/jobs'], departedAt: createdAt } },
      { createdAt },
    );
    assert.equal(await noteOf('/apis/batch/v1/jobs', { snapshot: departed }), 'the response is 503');
  });

  it('names the version that answers in place of the preferred one', async () => {
    const path = explain('/apis/batch/v1/namespaces/default/jobs');
    const text = await shown({ snapshot: threeVersions(), path });
    assert.match(
      text,
      /Goes to cp-36 \(1\.36\): 1\.36 answers for all while versions differ\. .* Candidates: cp-36 /,
    );
    assert.doesNotMatch(text, /no server of it is healthy/);
    for (const changed of [{ down: ['cp-36'] }, { snapshot: threeVersions({ departedAt: createdAt }) }]) {
      const without = await shown({ snapshot: threeVersions(), path, ...changed });
      assert.match(without, /Goes to cp-26 \(1\.26\): no server of 1\.36 is healthy\./);
      assert.match(without, /Version: 1\.36 is preferred, but no server of it is healthy: 1\.26 answers/);
    }
    const nothing = await shown({ snapshot: threeVersions(), path, down: ['cp-25', 'cp-26', 'cp-36'] });
    assert.match(nothing, /Gets 503: no server that serves it is healthy\./);
    assert.match(nothing, /Note: no server that could serve it is healthy/);
    assert.doesNotMatch(nothing, /: [\d.]+ answers/);
  });

  it('is asked again with every update', async () => {
    const query = 'live?generation=1&method=GET&url=/apis/batch/v1/jobs';
    assert.doesNotMatch(await shown({ snapshot, path: query }), /unreachable/);
    assert.match(await shown({ snapshot, down: ['cp-b'], path: query }), /, unreachable Note: no server/);
  });
});

describe('names and versions on the status page', () => {
  it('stand as people count them', async () => {
    const text = await shown({ snapshot: differing() });
    const places = ['control-plane-10', 'control-plane-1 ', 'control-plane-2 '].map((name) =>
      text.indexOf(name, text.indexOf('Server Version Health')),
    );
    // The local server first, then by version and name.
    assert.deepEqual(
      places,
      places.toSorted((left, right) => left - right),
    );
    assert.match(text, /2 servers control-plane-1 control-plane-10/);
  });

  it('are no wider than the page, and of twelve versions the newest have shades of their own', async () => {
    const long = `v1.36.0-${'x'.repeat(500)}`;
    const servers = Object.fromEntries(
      Array.from({ length: 12 }, (_, index) => [
        `cp-${index}`,
        { serves: ['v1/pods'], version: index === 11 ? long : `v1.${index + 20}.0` },
      ]),
    );
    const { app } = await testApp({
      snapshot: snapshotOf(servers, { createdAt }),
      connection,
      clock: () => now,
    });
    const text = await (await app.fetch(new Request(page))).text();
    assert.ok(!text.includes(long.slice(0, 161)));
    const colours = [...text.matchAll(/<rect [^>]*class="shade-(\d)"/g)].map(([, shade]) => Number(shade));
    assert.deepEqual(colours.slice(0, 12), [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]);
  });
});

describe('the last hour on the status page', () => {
  async function afterRequests() {
    const snapshot = snapshotOf(
      {
        'cp-a': { serves: ['v1/pods'], version: 'v1.36.0' },
        'cp-b': { serves: ['v1/pods', 'batch/v1beta1/cronjobs'], version: 'v1.24.0', hostname: 'old-one' },
      },
      { createdAt },
    );
    const history = new RouterHistory({ preferredMinor: () => undefined, clock: () => now });
    history.tableInUse(buildRoutingTable(snapshot));
    const { app } = await testApp({
      ...sidecar,
      snapshot,
      connection,
      history,
      observers: [history],
      clock: () => now,
    });
    const headers = { 'user-agent': 'old-operator/1.0' };
    await app.fetch(
      new Request('https://router.test/apis/batch/v1beta1/cronjobs?token=hunter2', { headers }),
    );
    await app.fetch(
      new Request('https://router.test/api/v1/pods', { headers: { 'user-agent': 'everybody/1.0' } }),
    );
    return async (path: string) => (await app.fetch(new Request(page + path))).text();
  }

  it('has requests by version and server, what was rerouted, the timeline, and who uses what vanishes', async () => {
    const text = plainText(await (await afterRequests())(''));
    assert.match(text, /The last hour 2 requests since 12:00:00 UTC by this router/);
    assert.match(text, /v1\.24\.0 1 request 0 per second/);
    assert.match(
      text,
      /Not to the local server: 1 request 1 ServedByPeer: the local server does not serve the resource /,
    );
    assert.match(text, /Timeline 12:00:00 UTC , 0 s ago This router has its first snapshot since it started/);
    assert.match(
      text,
      /1 resource in use is removed by the upgrade: tell these clients to use another version/,
    );
    assert.match(
      text,
      /cronjobs batch\/v1beta1 Removed by the upgrade 1 request last .* old-operator\/1\.0 1 admin 1/,
    );
  });

  it('is told as JSON too, without queries, and of callers only where not all servers serve what they ask for', async () => {
    const ask = await afterRequests();
    const text = await ask('v1/history');
    const { total, partlyServed } = JSON.parse(text);
    assert.equal(total.requests, 2);
    assert.deepEqual(partlyServed[0].userAgents[0].name, 'old-operator/1.0');
    assert.doesNotMatch(text + (await ask('')), /hunter2|everybody/);
  });

  it('says so where none is kept', async () => {
    assert.match(await shown({ snapshot: differing() }), /The last hour This runtime keeps no history/);
    const { app } = await testApp({ connection });
    assert.equal((await app.fetch(new Request(`${page}v1/history`))).status, 404);
  });
});

describe('the navigation of the status page', () => {
  /** Where its links go, and the sections that there are, in the order of the page. */
  async function linksAndSections(options: Pick<AppParts, 'history'>) {
    const { app } = await testApp({ snapshot: differing(), connection, clock: () => now, ...options });
    const text = await (await app.fetch(new Request(page))).text();
    const found = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, id]) => id ?? '');
    return {
      links: found(/<a href="#([^"]+)">/g),
      sections: found(/<section id="([^"]+)"/g),
    };
  }

  it('leads to every section below the summary, in their order', async () => {
    const history = new RouterHistory({ preferredMinor: () => undefined, clock: () => now });
    const { links, sections } = await linksAndSections({ history });
    assert.deepEqual(
      links,
      sections.filter((id) => id !== 'summary' && id !== 'upgrade'),
    );
    assert.ok(links.includes('timeline') && links.includes('clients'));
  });

  it('leads nowhere where a runtime keeps no history', async () => {
    const { links, sections } = await linksAndSections({});
    assert.ok(links.length > 0);
    assert.deepEqual(
      links.filter((id) => !sections.includes(id)),
      [],
    );
  });
});

it('the page is sent compressed to those who take it', async () => {
  const { app } = await testApp({ snapshot: differing(), connection });
  const headers = { 'accept-encoding': 'gzip, br' };
  for (const path of ['', `live${explain('/api/v1/pods')}`]) {
    const plain = await app.fetch(new Request(page + path));
    const packed = await app.fetch(new Request(page + path, { headers }));
    assert.equal(plain.headers.get('content-encoding'), null);
    assert.equal(packed.headers.get('content-encoding'), 'gzip', path);
    assert.equal(packed.headers.get('vary'), 'Accept-Encoding');
    const bytes = new Uint8Array(await packed.arrayBuffer());
    assert.match(gunzipSync(bytes).toString(), /id="overview"/);
    assert.ok(bytes.byteLength * 2 < (await plain.text()).length, path);
  }
});
