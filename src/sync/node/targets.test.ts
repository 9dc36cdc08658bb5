import assert from 'node:assert/strict';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { getRequestListener } from '@hono/node-server';
import { httpsServer } from '../../../test/support/api-servers/https-server.ts';
import { createAuthority } from '../../../test/support/certificates.ts';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import { SnapshotReceiver } from '../../snapshot/receiving/receiver.ts';
import { getSnapshot } from '../../snapshot/receiving/snapshot-endpoint.ts';
import { SnapshotPushes } from '../../snapshot/receiving/snapshot-pushes.ts';
import { createMemorySnapshotStore } from '../../snapshot/receiving/snapshot-store.ts';
import { type PinnedKeySet, parseSnapshotKeys } from '../../snapshot/signing/keys.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../../snapshot/signing/seal.ts';
import { type Delivery, sealDelivery } from '../deliver.ts';
import { fileTarget, HttpsTarget, previousSnapshot } from './targets.ts';

const old = await generateSigningKey('EdDSA');
const next = await generateSigningKey('EdDSA');
const { signal } = new AbortController();

async function pinned(...keys: readonly object[]): Promise<PinnedKeySet> {
  const parsed = await parseSnapshotKeys(JSON.stringify({ keys }));
  assert.ok(parsed.ok);
  return parsed.keys;
}

async function holder(name: string, generation: number, key = old) {
  const jws = await sealSnapshot(
    snapshotOf({ [name]: ['v1/pods'] }, { generation }),
    signingKeyOf(key.privateJwk),
  );
  return { name, held: async () => jws };
}

const failing = {
  name: 'failing',
  held: () => Promise.reject(new Error('connection refused')),
};

test('the newest snapshot of the targets is used; one that fails, or cannot say what it holds, is skipped', async () => {
  const sources = {
    holders: [
      failing,
      await holder('a', 5),
      { name: 'empty', held: async () => undefined },
      { name: 'silent' },
      await holder('b', 4),
    ],
    keys: await pinned(old.publicJwk),
    logger: silentLogger,
  };
  assert.equal((await previousSnapshot(sources, signal))?.metadata.generation, 5);
});

test('in a rotation the new key continues a snapshot of the old one, if that is still trusted', async () => {
  const holders = [await holder('a', 5, old)];
  const rest = { holders, logger: silentLogger };
  const both = { ...rest, keys: await pinned(next.publicJwk, old.publicJwk) };
  assert.equal((await previousSnapshot(both, signal))?.metadata.generation, 5);
  const warnings: unknown[] = [];
  const onlyNext = {
    ...rest,
    keys: await pinned(next.publicJwk),
    logger: { ...silentLogger, warn: (fields: object) => warnings.push(fields) },
  };
  assert.equal(await previousSnapshot(onlyNext, signal), undefined);
  assert.equal(warnings.length, 1);
});

test('a first start, with routers that are not up yet, is warned of no earlier run', async () => {
  const said: string[] = [];
  const logger = {
    ...silentLogger,
    info: () => said.push('info'),
    warn: (_fields: object, message: string) => said.push(message),
  };
  const sources = {
    holders: [failing],
    keys: await pinned(old.publicJwk),
  };
  assert.equal(await previousSnapshot({ ...sources, logger }, signal), undefined);
  assert.deepEqual(said, ['info']);
});

const snapshot = snapshotOf({ a: ['v1/pods'] });

function renewed(delivery: Delivery, now: number): Promise<Delivery> {
  const { metadata, ...rest } = delivery.snapshot;
  const createdAt = new Date(now).toISOString();
  return sealDelivery({ ...rest, metadata: { ...metadata, createdAt } }, key, delivery);
}

test('writes the sealed snapshot, in the form that routers store', async (context) => {
  const folder = await temporaryDirectory(context);
  const key = signingKeyOf((await generateSigningKey('ES256')).privateJwk);
  const file = join(folder, 'snapshot.jws');
  const target = fileTarget({ file });
  const delivery = await sealDelivery(snapshot, key);
  assert.deepEqual(await target.put(delivery, signal), { kind: 'accepted' });
  assert.equal(await readFile(file, 'utf8'), `${delivery.sealed?.snapshot}\n`);
});

test('writes plain JSON only on request, readable by its owner only, and leaves no other file', async (context) => {
  const folder = await temporaryDirectory(context);
  const file = join(folder, 'snapshot.json');
  const unsigned = await sealDelivery(snapshot, undefined);
  const refused = await fileTarget({ file }).put(unsigned, signal);
  assert.equal(refused.kind, 'refused');
  assert.deepEqual(await fileTarget({ file, unsigned: true }).put(unsigned, signal), { kind: 'accepted' });
  assert.deepEqual(JSON.parse(await readFile(file, 'utf8')), JSON.parse(JSON.stringify(snapshot)));
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  // As a process leaves it that is killed while it writes.
  await writeFile(join(folder, '.snapshot.json.0011.tmp'), '{');
  assert.equal(await fileTarget({ file, unsigned: true }).held?.(signal), undefined);
  assert.deepEqual(await readdir(folder), ['snapshot.json']);
});

test('a file that cannot be written is a result, not an exception', async (context) => {
  const file = join(await temporaryDirectory(context), 'missing', 'snapshot.json');
  const result = await fileTarget({ file, unsigned: true }).put(
    await sealDelivery(snapshot, undefined),
    signal,
  );
  assert.equal(result.kind, 'unreachable');
});

const authority = await createAuthority('routers');
const serving = await authority.issue({ ipAddresses: ['127.0.0.1'], usage: 'server' });
const { privateJwk, publicJwk } = await generateSigningKey('EdDSA');
const key = signingKeyOf(privateJwk);

async function newReceiver(): Promise<SnapshotReceiver> {
  const parsed = await parseSnapshotKeys(JSON.stringify({ keys: [publicJwk] }));
  assert.ok(parsed.ok);
  const { keys } = parsed;
  const store = createMemorySnapshotStore();
  return new SnapshotReceiver({ keys: () => keys, addressPolicy: createAddressPolicy({}), store });
}

interface SetUp {
  /** The router's receiver; replaced, the router was restarted. */
  receiver: SnapshotReceiver;
  /** The token it lets in. */
  token?: string;
  /** Responds in the receiver's place. */
  responds?: () => Response;
}

type TargetOptions = Omit<ConstructorParameters<typeof HttpsTarget>[0], 'url' | 'credentials'>;

/** A router that lets in who brings the right token, if it asks for one; what it was asked is in `log`. */
async function routerTarget(context: TestContext, router: SetUp, options: TargetOptions = {}) {
  const log: string[] = [];
  const handle = async (request: Request): Promise<Response> => {
    const name = new URL(request.url).pathname.replace('/.mixed-version-proxy/v1/', '');
    log.push(`${request.method} ${name}`);
    if (router.responds !== undefined) return router.responds();
    if (router.token !== undefined && request.headers.get('authorization') !== `Bearer ${router.token}`) {
      return Response.json({ kind: 'Status', message: 'Unauthorized', code: 401 }, { status: 401 });
    }
    if (request.method === 'PUT') {
      return new SnapshotPushes(router.receiver).take({ body: request.body, queue: '' });
    }
    const response = await getSnapshot(request.headers.get('accept') ?? undefined, router.receiver);
    return request.method === 'HEAD' ? new Response(null, response) : response;
  };
  const connections = new Set<unknown>();
  const respond = getRequestListener(handle);
  const { port } = await httpsServer(
    context,
    { cert: serving.certificate, key: serving.privateKey },
    (request, response) => {
      connections.add(request.socket);
      return respond(request, response);
    },
  );
  const target = new HttpsTarget({
    url: `https://127.0.0.1:${port}`,
    credentials: async () => ({ certificateAuthorities: authority.certificate }),
    ...options,
  });
  context.after(() => target.close());
  return { log, target, connections };
}

test('a HEAD request shows whether a router still holds a snapshot, and that it has lost it', async (context) => {
  const router: SetUp = { receiver: await newReceiver() };
  const { log, target, connections } = await routerTarget(context, router);
  const delivery = await sealDelivery(snapshotOf({ a: ['v1/pods'] }), key);
  assert.equal(await target.holds(delivery, signal), false);
  await target.put(delivery, signal);
  assert.equal(await target.holds(delivery, signal), true);

  const later = await renewed(delivery, Date.now() + 1000);
  assert.equal(later.sealed?.change?.snapshot.split('\n')[1], '{}', 'no set is sent again');
  assert.equal(await target.holds(later, signal), false, 'not yet renewed');
  await target.put(later, signal);
  assert.equal(await target.holds(later, signal), true);
  assert.equal(await target.holds(delivery, signal), true, 'renewed by somebody else');

  const other = await sealDelivery(snapshotOf({ b: ['v1/pods'] }, { generation: 2 }), key);
  assert.equal(await target.holds(other, signal), false);
  router.receiver = await newReceiver();
  assert.equal(await target.holds(later, signal), false, 'restarted');
  assert.deepEqual(log, [
    'HEAD snapshot',
    'PUT snapshot',
    'HEAD snapshot',
    'HEAD snapshot',
    'PUT snapshot',
    'HEAD snapshot',
    'HEAD snapshot',
    'HEAD snapshot',
    'HEAD snapshot',
  ]);
  assert.ok(connections.size < 3, `${log.length} requests on ${connections.size} connections`);
});

test('a change is pushed as what is new to the router, and whole to one that has lost what it held', async (context) => {
  const router: SetUp = { receiver: await newReceiver() };
  const { log, target } = await routerTarget(context, router);
  const first = await sealDelivery(snapshotOf({ a: ['v1/pods'] }), key);
  const second = await sealDelivery(
    snapshotOf({ a: ['v1/pods'], b: ['v1/nodes'] }, { generation: 2 }),
    key,
    first,
  );
  const third = await sealDelivery(snapshotOf({ a: ['v1/pods'] }, { generation: 3 }), key, second);
  const lengths = [first, second, third].map(({ sealed }) => sealed?.change?.snapshot.split('\n')[1]?.length);
  assert.equal(lengths[0], undefined);
  assert.equal(lengths[2], 2, 'no set is new');
  for (const delivery of [first, second, third]) {
    assert.deepEqual(await target.put(delivery, signal), { kind: 'accepted' });
    assert.deepEqual(router.receiver.current()?.snapshot, delivery.snapshot);
  }
  assert.equal(log.length, 3);

  const fourth = await sealDelivery(snapshotOf({ a: ['v1/pods'] }, { generation: 4 }), key, third);
  router.receiver = await newReceiver();
  assert.deepEqual(await target.put(fourth, signal), { kind: 'accepted' });
  assert.deepEqual(router.receiver.current()?.snapshot, fourth.snapshot);
  assert.equal(log.length, 5);
});

test('a router of another cluster refuses, and is not overtaken', async (context) => {
  const router: SetUp = { receiver: await newReceiver() };
  const { target } = await routerTarget(context, router);
  const of = (cluster: string, generation: number) =>
    sealDelivery(snapshotOf({ a: ['v1/pods'] }, { cluster, generation }), key);
  assert.deepEqual(await target.put(await of('ours', 1), signal), { kind: 'accepted' });
  const result = await target.put(await of('theirs', 2), signal);
  assert.equal(result.kind, 'refused');
  assert.match(result.kind === 'refused' ? result.message : '', /^409 .*theirs.*ours/);
});

test('a token instead of a certificate is read again for each request', async (context) => {
  const router: SetUp = { receiver: await newReceiver(), token: 'first' };
  let current = 'first';
  const { target } = await routerTarget(context, router, { bearerToken: () => current });
  const delivery = await sealDelivery(snapshotOf({ a: ['v1/pods'] }), key);
  assert.deepEqual(await target.put(delivery, signal), { kind: 'accepted' });
  router.token = 'second';
  const refused = await target.put(delivery, signal);
  assert.match(refused.kind === 'refused' ? refused.message : refused.kind, /^401 Unauthorized/);
  await assert.rejects(target.holds(delivery, signal), /returned 401/);
  current = 'second';
  assert.deepEqual(await target.put(delivery, signal), { kind: 'accepted' });
  assert.equal(await target.holds(delivery, signal), true);
});

test('a missing token file makes the delivery fail, with the reason', async (context) => {
  const bearerToken = () => {
    throw new Error('ENOENT: no such file or directory');
  };
  const { target } = await routerTarget(context, { receiver: await newReceiver() }, { bearerToken });
  const delivery = await sealDelivery(snapshotOf({ a: ['v1/pods'] }), key);
  assert.deepEqual(await target.put(delivery, signal), {
    kind: 'unreachable',
    message: 'ENOENT: no such file or directory',
  });
});

test('the response of a router that holds a newer snapshot has its generation', async (context) => {
  const router: SetUp = { receiver: await newReceiver() };
  await router.receiver.accept(await sealSnapshot(snapshotOf({ a: ['v1/pods'] }, { generation: 40 }), key));
  const { target } = await routerTarget(context, router);
  const result = await target.put(await sealDelivery(snapshotOf({ b: ['v1/pods'] }), key), signal);
  assert.equal(result.kind, 'newer-held');
  assert.equal(result.kind === 'newer-held' && result.generation, 40);
});

test('attack: a router that claims the highest generation of all names none, so nothing has to go above it', async (context) => {
  const details = { causes: [{ reason: 'HeldGeneration', message: String(Number.MAX_SAFE_INTEGER) }] };
  const responds = () => Response.json({ message: 'is held', details }, { status: 409 });
  const { target } = await routerTarget(context, { receiver: await newReceiver(), responds });
  const result = await target.put(await sealDelivery(snapshot, key), signal);
  assert.equal(result.kind, 'newer-held');
  assert.equal(result.kind === 'newer-held' && result.generation, undefined);
});

test('a refusal carries the router’s own message', async (context) => {
  const { target } = await routerTarget(context, { receiver: await newReceiver() });
  const early = snapshotOf({ a: ['v1/pods'] }, { createdAt: '2999-01-01T00:00:00Z' });
  for (const [delivery, message] of [
    [await sealDelivery(snapshot, signingKeyOf(next.privateJwk)), /not pinned/],
    [await sealDelivery(early, key), /^422 .*in the future/],
  ] as const) {
    const result = await target.put(delivery, signal);
    assert.match(result.kind === 'refused' ? result.message : result.kind, message);
  }
});

test('requests have the name of the router, redirects are not followed, and no response is read for ever', async (context) => {
  const delivery = await sealDelivery(snapshot, key);
  const receiver = await newReceiver();
  const { target: misnamed } = await routerTarget(context, { receiver }, { serverName: 'other.example.com' });
  assert.equal((await misnamed.put(delivery, signal)).kind, 'unreachable');
  assert.equal(receiver.current(), undefined);

  const elsewhere = await routerTarget(context, { receiver });
  const redirects = () => Response.redirect(`${elsewhere.target.name}/elsewhere`, 307);
  const { target: redirected } = await routerTarget(context, { receiver, responds: redirects });
  assert.equal((await redirected.put(delivery, signal)).kind, 'refused');
  assert.deepEqual(elsewhere.log, []);

  const goesOn = () =>
    new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) }));
  const { target: endless } = await routerTarget(context, { receiver, responds: goesOn });
  const message = 'the response is longer than 262144 bytes';
  assert.deepEqual(await endless.put(delivery, signal), { kind: 'unreachable', message });
});
