import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import fc from 'fast-check';
import * as v from 'valibot';
import {
  type ServerOptions,
  servedSetKeyOf,
  snapshotOf,
} from '../../../test/support/snapshots/snapshot-builder.ts';
import { servedSetOf } from './handmade-snapshot.ts';
import { snapshotLimits } from './limits.ts';
import { parseSnapshot, parseSnapshotText } from './parse-snapshot.ts';
import { type APIGroupDiscovery, type ServedSet, type Snapshot, server } from './schema.ts';

/** A valid snapshot in which every field is used. */
const fullSnapshot = snapshotOf(
  {
    a: { serves: ['v1/pods', 'v1/pods/log'], version: 'v1.26.15', hostname: 'node-1', serverName: 'fd00::1' },
    b: { serves: ['v1/pods', 'batch/v1/jobs'], url: 'https://peer-b.example.com:6443', stale: true },
    c: {
      serves: ['apps/v1/deployments'],
      withoutAddress: true,
      discovery: [
        {
          metadata: { name: 'apps' },
          versions: [
            {
              version: 'v1',
              freshness: 'Current',
              resources: [
                {
                  resource: 'deployments',
                  responseKind: { group: '', version: '', kind: 'Deployment' },
                  scope: 'Namespaced',
                  singularResource: 'deployment',
                  verbs: ['get', 'list'],
                  shortNames: ['deploy'],
                  categories: ['all'],
                  subresources: [
                    { subresource: 'scale', acceptedTypes: [{ kind: 'Scale' }], verbs: ['get'] },
                  ],
                },
              ],
            },
          ],
        },
        { metadata: {} },
      ],
      storageVersionHashes: { 'apps.deployments': '8aSe+NMegvE=' },
      schemas: { 'apps.deployments': { v1: 'q83vEjRWeJA=' } },
      openapiV3: { 'apis/apps/v1': '/openapi/v3/apis/apps/v1?hash=0123ABCD' },
    },
  },
  {
    cluster: 'production-1',
    apiServices: [
      { group: '', version: 'v1', available: true },
      {
        group: 'metrics.k8s.io',
        version: 'v1beta1',
        service: { namespace: 'kube-system', name: 'metrics-server' },
        available: false,
      },
    ],
    customResourceGroups: [{ group: 'example.com', version: 'v1alpha1' }],
  },
);

/** A copy of `fullSnapshot` in which `value` stands at `path`; `undefined` takes away what stands there. */
function withChange(path: readonly (string | number)[], value: unknown): unknown {
  const root: unknown = JSON.parse(JSON.stringify(fullSnapshot));
  let place = root as Record<string, unknown>;
  for (const key of path.slice(0, -1)) place = place[key] as Record<string, unknown>;
  const last = path.at(-1) ?? '';
  if (value === undefined) delete place[last];
  else place[last] = value;
  return root;
}

/** The faults of `input`, each as `path: message`. */
async function issuesOf(input: unknown): Promise<string[]> {
  const result = await parseSnapshot(input);
  return result.ok ? [] : result.issues.map(({ path, message }) => `${path}: ${message}`);
}

test('a snapshot that uses every field is accepted and comes back as it was', async () => {
  const result = await parseSnapshot(fullSnapshot);
  assert.deepEqual(result, { ok: true, snapshot: fullSnapshot });
  assert.deepEqual(await parseSnapshotText(JSON.stringify(fullSnapshot)), {
    ok: true,
    snapshot: fullSnapshot,
  });
});

const [keyA = '', keyB = '', keyC = ''] = fullSnapshot.servers.map((server) => server.serves);
const sha = `sha256:${'0'.repeat(64)}`;
const group = ['servedSets', keyC, 'discovery', 0] as const;
const resource = [...group, 'versions', 0, 'resources', 0] as const;

const issues: readonly (readonly [path: readonly (string | number)[], value: unknown, issue: RegExp])[] = [
  [['apiVersion'], 'mixed-version-proxy/v2', /^apiVersion: must be "mixed-version-proxy\/v1alpha1", not/],
  [['kind'], undefined, /^kind: is required$/],
  [['extra'], 1, /^extra: is not a field/],
  [['metadata'], [], /^metadata: must be an object, not an array/],
  [['metadata', 'note'], 'x', /^metadata\.note: is not a field/],
  [['metadata', 'generation'], 0, /^metadata\.generation: must be a whole number/],
  [['metadata', 'generation'], 1.5, /^metadata\.generation: must be a whole number/],
  [['metadata', 'generation'], 2 ** 53, /^metadata\.generation: must be a whole number/],
  [['metadata', 'generation'], '7', /^metadata\.generation: must be a whole number .*, not "7"/],
  [['metadata', 'createdAt'], 'yesterday', /^metadata\.createdAt: must be an RFC 3339 time/],
  [['metadata', 'lifetimeSeconds'], 300, /^metadata\.lifetimeSeconds: is not a field of this object/],
  [['metadata', 'source'], 'guess', /^metadata\.source: must be "storageversions", "discovery" or "both"/],
  [['metadata', 'cluster'], null, /^metadata\.cluster: must be .*, not null/],
  [['servers'], {}, /^servers: must be an array/],
  [['servers'], [], /^servers: must list at least one server/],
  [['servers'], undefined, /^servers: is required/],
  [['servers', 1], 'b', /^servers\[1\]: must be an object, not "b"/],
  [['servers', 1, 'id'], 'a', /^servers\[1\]\.id: must be unique: "a" is also the id of servers\[0\]/],
  [['servers', 1, 'id'], 'B_1', /^servers\[1\]\.id: must be a DNS subdomain/],
  [['servers', 1, 'id'], 'x'.repeat(254), /^servers\[1\]\.id: must be a DNS subdomain/],
  [['servers', 0, 'address'], '10.0.0.1', /^servers\[0\]\.address: must end in a port/],
  [['servers', 0, 'address'], 'fd00::1:6443', /^servers\[0\]\.address: must be host:port/],
  [['servers', 0, 'address'], '0x7f.1:6443', /^servers\[0\]\.address: must name a host/],
  [['servers', 0, 'url'], 'https://10.0.0.1:6443', /^servers\[0\]: must not have both address and url/],
  [['servers', 1, 'url'], 'http://peer-b:6443', /^servers\[1\]\.url: must begin with https/],
  [['servers', 1, 'url'], 'https://peer-b:6443/api', /^servers\[1\]\.url: must be an origin/],
  [
    ['servers', 1, 'serverName'],
    'kubernetes.default.svc\r\nx',
    /^servers\[1\]\.serverName: must be a DNS name/,
  ],
  [['servers', 1, 'version'], 'v1 26', /^servers\[1\]\.version: must be 1 to/],
  [['servers', 1, 'stale'], 'true', /^servers\[1\]\.stale: must be true or false/],
  [['servers', 1, 'serves'], sha, /^servers\[1\]\.serves: must be a key of servedSets; there is no/],
  [['servers', 1, 'serves'], undefined, /^servers\[1\]\.serves: is required/],
  [['servedSets', sha], { storageVersions: {} }, /^servedSets\["sha256:0+"\]: must be named by the hash/],
  [['servedSets', 'set-1'], { storageVersions: {} }, /^servedSets\["set-1"\]: must be named sha256:/],
  [
    ['servedSets', keyB, 'storageVersions', 'core.pods', 0],
    'v2',
    /: must be named by the hash of its content, sha/,
  ],
  [['servedSets', keyB, 'storageVersions'], undefined, /\.storageVersions: is required/],
  [['servedSets', keyB, 'storageVersions'], [], /\.storageVersions: must be an object/],
  [
    ['servedSets', keyB, 'storageVersions', 'pods'],
    ['v1'],
    /\.storageVersions\.pods: must be named <group>\.<res/,
  ],
  [
    ['servedSets', keyB, 'storageVersions', 'Batch.jobs'],
    ['v1'],
    /\["Batch\.jobs"\]: must begin with an API group/,
  ],
  [
    ['servedSets', keyB, 'storageVersions', 'batch.1jobs'],
    ['v1'],
    /\["batch\.1jobs"\]: must end in a resource/,
  ],
  [['servedSets', keyB, 'storageVersions', '.jobs'], ['v1'], /\["\.jobs"\]: must be named/],
  [['servedSets', keyB, 'storageVersions', 'batch.jobs'], 'v1', /\["batch\.jobs"\]: must be an array/],
  [
    ['servedSets', keyB, 'storageVersions', 'batch.jobs', 0],
    'V1',
    /\["batch\.jobs"\]\[0\]: must be an API version/,
  ],
  [['servedSets', keyB, 'storageVersions', 'batch.jobs'], Array(65).fill('v1'), /must have at most 64 items/],
  [['servedSets', keyA, 'subresources', 'core.pods', 'v1', 0], 'a/../b', /\.v1\[0\]: must be a subresource/],
  [
    ['servedSets', keyA, 'subresources', 'core.pods', '1'],
    [],
    /\["core\.pods"\]\["1"\]: must be an API version/,
  ],
  [['servedSets', keyC, 'openapiV3', '/apis'], '/x', /openapiV3\["\/apis"\]: must be a path without its/],
  [
    ['servedSets', keyC, 'openapiV3', 'apis'],
    '//evil.example/x',
    /openapiV3\.apis: must be a path beginning with one/,
  ],
  [
    ['servedSets', keyC, 'openapiV3', 'apis'],
    '/\\evil.example',
    /openapiV3\.apis: must be a path beginning with one/,
  ],
  [
    [...group, 'metadata', 'creationTimestamp'],
    null,
    /discovery\[0\]\.metadata\.creationTimestamp: is not a field/,
  ],
  [[...group, 'versions', 0, 'version'], '', /versions\[0\]\.version: must be an API version/],
  [[...group, 'versions', 0, 'freshness'], 'Old', /versions\[0\]\.freshness: must be "Current" or "Stale"/],
  [[...resource, 'verbs', 1], 7, /resources\[0\]\.verbs\[1\]: must be at most/],
  [[...resource, 'responseKind'], [], /resources\[0\]\.responseKind: must be an object, not an array/],
  [[...resource, 'subresources', 0, 'subresource'], undefined, /subresources\[0\]\.subresource: is required/],
  [['apiServices', 1, 'version'], undefined, /^apiServices\[1\]\.version: is required/],
  [['apiServices', 1, 'service', 'port'], 443, /^apiServices\[1\]\.service\.port: is not a field/],
  [
    ['apiServices', 1, 'service', 'namespace'],
    'a.b',
    /^apiServices\[1\]\.service\.namespace: must be a DNS label/,
  ],
  [['apiServices', 2], { group: '', version: 'v1', available: true }, /^apiServices\[2\]: must be unique/],
  [['customResourceGroups', 0, 'group'], '', /^customResourceGroups\[0\]\.group: must be a DNS subdomain/],
];
for (const [path, value, issue] of issues) {
  test(`an error is reported at its path: ${issue.source}`, async () => {
    const found = await issuesOf(withChange(path, value));
    assert.ok(
      found.some((text) => issue.test(text)),
      `${issue} in ${JSON.stringify(found)}`,
    );
  });
}

test('every error of a document is reported at once', async () => {
  const found = await issuesOf({
    ...fullSnapshot,
    kind: 'Snapshot',
    servers: [
      { id: 'A', serves: 'x', one: 1, two: 2 },
      { ...fullSnapshot.servers[1], address: 'nowhere' },
    ],
    apiServices: 7,
  });
  for (const start of [
    'kind: must be',
    'servers[0].id: must be',
    'servers[0].one: is not a field of this object; nor is any of "two"',
    'servers[1].address: must',
    'apiServices: must be an array',
  ]) {
    assert.ok(
      found.some((text) => text.startsWith(start)),
      `${start} in ${JSON.stringify(found)}`,
    );
  }
});

test('50 servers that serve 400 resources of three versions are accepted', async () => {
  const paths = Array.from(
    { length: 400 },
    (_, index) => `group-${index % 30}.example/v1/resources${index}/status`,
  );
  const storageVersionHashes = Object.fromEntries(
    paths.map((_, index) => [`group-${index % 30}.example.resources${index}`, '8aSe+NMegvE=']),
  );
  const schemas = Object.fromEntries(
    paths.map((_, index) => [`group-${index % 30}.example.resources${index}`, { v1: '8aSe+NMegvE=' }]),
  );
  const servers = Array.from({ length: 50 }, (_, index): [string, ServerOptions] => [
    `server-${index}`,
    { serves: paths.slice(index % 3), storageVersionHashes, schemas },
  ]);
  const snapshot: Snapshot = snapshotOf(Object.fromEntries(servers));
  const text = JSON.stringify(snapshot);
  assert.ok(text.length < 250_000, `${text.length} bytes`);
  assert.equal((await parseSnapshotText(text)).ok, true);
});

test('a set may know subresources of resources that it does not list: they are never asked for', async () => {
  const set = { ...servedSetOf(['v1/pods']), subresources: { 'core.nodes': { v1: ['proxy'] } } };
  const key = servedSetKeyOf(set);
  const snapshot = { ...fullSnapshot, servers: [{ id: 'a', serves: key }], servedSets: { [key]: set } };
  assert.equal((await parseSnapshot(snapshot)).ok, true);
});

test('the discovery documents of real servers fit the schema, less the creationTimestamp that says nothing', async () => {
  const folder = new URL('../../../test/fixtures/kubernetes-1.26-batch-disabled/a/', import.meta.url);
  const discovery: APIGroupDiscovery[] = [];
  for (const file of ['aggregated_api.json', 'aggregated_apis.json']) {
    const { items } = JSON.parse(await readFile(new URL(file, folder), 'utf8')) as {
      items: APIGroupDiscovery[];
    };
    discovery.push(...items.map(({ metadata: { name }, versions }) => ({ metadata: { name }, versions })));
  }
  const { paths } = JSON.parse(await readFile(new URL('openapi__v3.json', folder), 'utf8')) as {
    paths: Record<string, { serverRelativeURL: string }>;
  };
  const openapiV3 = Object.fromEntries(
    Object.entries(paths).map(([path, { serverRelativeURL }]) => [path, serverRelativeURL]),
  );
  const snapshot = snapshotOf({ a: { serves: ['v1/pods'], discovery, openapiV3 } });
  assert.ok(discovery.length > 10);
  // Through JSON, as it would arrive: members that are undefined are gone.
  assert.deepEqual(await issuesOf(JSON.parse(JSON.stringify(snapshot))), []);
});

test('a digest of a schema is eight bytes in base64, under the name of a resource and a version', async () => {
  const issuesOf = async (schemas: unknown): Promise<readonly string[]> => {
    const set = { ...servedSetOf(['v1/pods']), schemas };
    const key = servedSetKeyOf(set as ServedSet);
    const result = await parseSnapshot({
      ...fullSnapshot,
      servers: [{ id: 'a', serves: key }],
      servedSets: { [key]: set },
    });
    return result.ok ? [] : result.issues.map(({ path }) => path.replace(key, 'KEY'));
  };
  assert.deepEqual(await issuesOf({ 'core.pods': { v1: '8aSe+NMegvE=' } }), []);
  assert.deepEqual(await issuesOf({}), []);
  for (const faulty of [
    { pods: { v1: '8aSe+NMegvE=' } },
    { 'core.pods': { v1: 'short' } },
    { 'core.pods': 'v1' },
    { 'core.pods': { 'V 1': '8aSe+NMegvE=' } },
  ]) {
    assert.equal((await issuesOf(faulty)).length, 1, JSON.stringify(faulty));
  }
});

test('names of prototype parts are refused wherever they stand, and change nothing', async () => {
  for (const key of ['__proto__', 'constructor', 'prototype']) {
    for (const path of [
      [],
      ['metadata'],
      ['servers', 0],
      ['servedSets'],
      ['servedSets', keyB, 'storageVersions'],
      group,
    ]) {
      const document = withChange(['metadata', 'cluster'], 'x');
      let place = document as Record<string, unknown>;
      for (const step of path) place = place[step] as Record<string, unknown>;
      // An own member, as JSON.parse makes it.
      Object.defineProperty(place, key, { value: { polluted: true }, enumerable: true });
      const found = await issuesOf(document);
      assert.equal(found.length, 1, found.join());
      assert.match(found[0] ?? '', new RegExp(`${key}: must not be used as a name$`));
    }
  }
  assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
});

test('a __proto__ member in JSON text is refused', async () => {
  const text = JSON.stringify(fullSnapshot).replace(
    '"metadata":{',
    '"metadata":{"__proto__":{"isAdmin":true},',
  );
  const result = await parseSnapshotText(text);
  assert.deepEqual(result, {
    ok: false,
    issues: [{ path: 'metadata.__proto__', message: 'must not be used as a name' }],
  });
});

test('of very many errors the first hundred are listed and the others counted', async () => {
  const servers = Array.from({ length: 1_000 }, () => ({ id: 7, serves: 7 }));
  const result = await parseSnapshot({ ...fullSnapshot, servers });
  assert.ok(!result.ok);
  assert.equal(result.issues.length, 100 + 1);
  // Two errors in each server, less the listed ones.
  assert.deepEqual(result.issues.at(-1), {
    path: '',
    message: `${2_000 - 100} more errors are not listed`,
  });
});

test('a list that is longer than any cluster needs is refused without looking at its items', async () => {
  const servers = Array.from({ length: snapshotLimits.servers + 1 }, () => null);
  assert.deepEqual(await issuesOf({ ...fullSnapshot, servers }), [
    'servers: must have at most 1000 items, not 1001',
  ]);
});

test('10 MB of JSON are refused by size', async () => {
  const result = await parseSnapshotText(`{"x":"${'x'.repeat(10_000_000)}"}`);
  assert.deepEqual(result, { ok: false, issues: [{ path: '', message: 'is larger than 8388608 bytes' }] });
});

test('size is counted in bytes, not in characters', async () => {
  const result = await parseSnapshotText(`"${'€'.repeat(snapshotLimits.bytes / 2)}"`);
  assert.ok(!result.ok);
  assert.match(result.issues[0]?.message ?? '', /is larger than/);
});

test('10,000 levels are refused before anything recurses into them', async () => {
  for (const text of [
    '['.repeat(10_000),
    `${'['.repeat(10_000)}${']'.repeat(10_000)}`,
    '{"a":'.repeat(10_000),
  ]) {
    const result = await parseSnapshotText(text);
    assert.deepEqual(result, {
      ok: false,
      issues: [{ path: '', message: 'is nested deeper than 32 levels' }],
    });
  }
});

test('brackets in strings are not levels', async () => {
  const result = await parseSnapshotText(JSON.stringify({ note: `${'['.repeat(100)}"\\${'{'.repeat(100)}` }));
  assert.ok(!result.ok);
  assert.ok(result.issues.some(({ path }) => path === 'note'));
});

test('more values than any snapshot has are refused by the length of their list', async () => {
  const values = '0,'.repeat(100_000);
  const result = await parseSnapshotText(`[${values}0]`);
  assert.deepEqual(result, { ok: false, issues: [{ path: '', message: 'must be an object' }] });
  const wrapped = await parseSnapshotText(`{"servers":[${values}0]}`);
  assert.ok(!wrapped.ok);
  const [issue] = wrapped.issues.filter(({ path }) => path === 'servers');
  assert.equal(issue?.message, 'must have at most 1000 items, not 100001');
});

test('a value that contains itself is refused', async () => {
  const loop: Record<string, unknown> = { ...fullSnapshot };
  loop['metadata'] = loop;
  assert.notDeepEqual(await issuesOf(loop), []);
});

test('text that is no JSON is refused in words', async () => {
  for (const text of [
    '',
    '{',
    '{"apiVersion": tru}',
    'apiVersion: mixed-version-proxy/v1alpha1',
    '\ufeff{}',
    '{"a":1,}',
  ]) {
    const result = await parseSnapshotText(text);
    assert.ok(!result.ok);
    assert.match(result.issues[0]?.message ?? '', /^is not JSON: ./);
  }
});

test('parsing never throws, whatever it is given', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true }),
      async (value) => {
        assert.equal((await parseSnapshot(value)).ok, false);
      },
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary' }), async (text) => {
      assert.equal((await parseSnapshotText(text)).ok, false);
    }),
  );
});

test('a good snapshot with any one value replaced is accepted unchanged or refused, never altered', async () => {
  const paths = pathsOf(fullSnapshot);
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...paths), fc.jsonValue({ maxDepth: 2 }), async (path, value) => {
      const changed = withChange(path, value);
      const result = await parseSnapshot(changed);
      if (result.ok) assert.deepEqual(result.snapshot, changed);
      else assert.ok(result.issues.length > 0);
    }),
    { numRuns: 500 },
  );
});

function pathsOf(value: unknown, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  const members: [string | number, unknown][] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value);
  const inner = members.flatMap(([key, member]) => pathsOf(member, [...path, key]));
  return path.length === 0 ? inner : [path, ...inner];
}

test('output is what was given, member for member', () => {
  const given = { id: 'a', address: '10.0.0.1:6443', serves: 'sha256:0', stale: false };
  assert.deepEqual(v.parse(server, given), given);
});
