import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Hono } from 'hono';
import { createApp, createFetchTransport, mixedVersionProxy, snapshotOf } from './index.ts';
import { silentLogger } from './runtime/logger.ts';
import { buildRoutingTable } from './snapshot/routing-table/build-routing-table.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from './snapshot/signing/seal.ts';

const snapshot = await snapshotOf({
  old: { address: '10.0.0.1:6443', serves: ['v1/pods'] },
  new: { address: '10.0.0.2:6443', serves: ['v1/pods', 'batch/v1/jobs'] },
});
const table = buildRoutingTable(snapshot);
const asked: string[] = [];
const options = {
  local: {
    kind: 'local',
    id: 'old',
    origin: 'https://10.0.0.1:6443',
    serverName: 'kubernetes.default.svc',
    trust: { kind: 'peer-ca' },
  },
  routingTable: { current: () => table },
  transport: createFetchTransport({
    fetch: async ({ url }) => {
      asked.push(url);
      return new Response('of a server');
    },
  }),
  logger: silentLogger,
} as const;

const jobs = '/apis/batch/v1/jobs?limit=5';

/** The status of the response for `path`, and the URL that a server was asked for. */
async function through(app: Hono, path: string): Promise<readonly [number, string | undefined]> {
  asked.length = 0;
  const { status } = await app.request(`https://program.example${path}`);
  return [status, asked[0]];
}

const mounted = {
  route: (base: string) => new Hono().route(base, createApp(options)),
  mount: (base: string) => new Hono().mount(base, createApp(options).fetch),
  'route, behind a middleware': (base: string) => {
    const app = new Hono();
    app.use((_context, next) => next());
    return app.route(base, createApp(options));
  },
};
for (const [way, at] of Object.entries(mounted)) {
  test(`an app under a path, by ${way}, sees requests without it`, async () => {
    const app = at('/clusters/a');
    assert.deepEqual(await through(app, `/clusters/a${jobs}`), [200, `https://10.0.0.2:6443${jobs}`]);
    assert.deepEqual(await through(app, '/clusters/a/api/v1/pods/a%2Fb'), [
      200,
      'https://10.0.0.1:6443/api/v1/pods/a%2Fb',
    ]);
    assert.deepEqual(await through(app, '/clusters/a/livez'), [200, undefined]);
    assert.equal((await through(app, '/clusters/b/livez'))[0], 404);
  });
}

test('an app under a path that has a parameter sees requests without it', async () => {
  const app = new Hono().route('/clusters/:name', createApp(options));
  assert.deepEqual(await through(app, `/clusters/x${jobs}`), [200, `https://10.0.0.2:6443${jobs}`]);
});

for (const [way, at] of [
  ['by itself', ''],
  ['under a path', '/k8s'],
] as const) {
  test(`a middleware ${way} sends what only a peer serves to it, and the rest to the program`, async () => {
    const own = new Hono();
    own.use(mixedVersionProxy(options));
    own.get('/api/v1/pods', (context) => context.text('served here', 202));
    const app = at === '' ? own : new Hono().route(at, own);
    assert.deepEqual(await through(app, `${at}${jobs}`), [200, `https://10.0.0.2:6443${jobs}`]);
    assert.deepEqual(await through(app, `${at}/api/v1/pods`), [202, undefined]);
  });
}

test('what is missing in the options is told when the app is made, all at once', () => {
  const nothing = {} as typeof options;
  for (const make of [createApp, mixedVersionProxy]) {
    assert.throws(
      () => make(nothing),
      /^TypeError: mixed-version-proxy: transport must .*; routingTable must /,
    );
    assert.throws(() => make(undefined as unknown as typeof options), /transport must/);
    assert.throws(
      () => make({ ...options, logger: console.log as unknown as typeof silentLogger }),
      /logger must/,
    );
  }
  const { local: _, ...withoutLocal } = options;
  assert.throws(() => mixedVersionProxy(withoutLocal), /local is required/);
});

test('what goes wrong is on the console, where a program gives no logger', async (context) => {
  const error = context.mock.method(console, 'error', () => {});
  const { logger: _, ...rest } = options;
  const transport = {
    send: () => {
      throw new Error('a fault of the transport');
    },
  };
  const response = await createApp({ ...rest, transport }).request('https://program.example/version');
  assert.equal(response.status, 500);
  assert.match(String(error.mock.calls[0]?.arguments[0]), /a fault of the transport/);
});

test('a snapshot by hand can be sealed, and tells every fault with its path', async () => {
  const { privateJwk } = await generateSigningKey('EdDSA');
  assert.match(await sealSnapshot(snapshot, signingKeyOf(privateJwk)), /^eyJ/);
  await assert.rejects(
    snapshotOf({ a: { address: 'nowhere', serves: ['v1/pods'] } }),
    /servers\[0\]\.address/,
  );
  await assert.rejects(snapshotOf({ a: { serves: ['pods'] } }), /write v1\/pods/);
});
