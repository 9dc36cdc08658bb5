import assert from 'node:assert/strict';
import { test } from 'node:test';
import { localId } from '../../test/support/clusters/decision-rows.ts';
import {
  type RecordingTransport,
  recordingTransport,
} from '../../test/support/routers/recording-transport.ts';
import { frontProxyConnection, seal, testApp, userConnection } from '../../test/support/routers/test-app.ts';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import { firstHeader } from '../apimachinery/raw-headers.ts';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { RequestGate } from '../proxy/request-gate.ts';
import { TransportError } from '../request/destination.ts';
import { type ConnectionInfo, inboundFromRequest } from '../request/inbound.ts';
import type { OutboundRequest } from '../request/transport.ts';
import { localDecision } from '../routing/decision.ts';

const prefix = '/.mixed-version-proxy';
const statusPath = `${prefix}/v1/status`;
const snapshotPath = `${prefix}/v1/snapshot`;
const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const snapshot = snapshotOf({ [localId]: ['v1/pods'], 'peer-1': ['v1/pods'], 'peer-2': ['v1/pods'] });

interface Attributes {
  readonly path: string;
  readonly verb: string;
}

/** `who` is the caller as a server sees them: the name in X-Remote-User, the text of Authorization, or nobody. */
type Rule = (who: string, attributes: Attributes) => boolean;

function reviewed(allowed: unknown, status = 201): Response {
  return Response.json({ kind: 'SelfSubjectAccessReview', status: { allowed } }, { status });
}

function whoOf({ headers }: OutboundRequest): string {
  return firstHeader(headers, 'x-remote-user') ?? firstHeader(headers, 'authorization') ?? 'nobody';
}

/** A cluster whose RBAC is `rule`, with a clock of its own. Rules may change. */
async function cluster(
  options: { rule?: Rule; connection?: ConnectionInfo; held?: boolean; gate?: RequestGate } = {},
) {
  const state = {
    now: 0,
    rule: options.rule ?? (() => false),
    /** Responses of servers that do not review, by ID. */
    failing: new Map<string, (outbound: OutboundRequest) => Response>(),
  };
  const asked: { readonly server: string; readonly who: string; readonly attributes: Attributes }[] = [];
  const transport: RecordingTransport = {
    sent: [],
    async send(outbound, inbound, onHead) {
      assert.deepEqual([outbound.method, outbound.target], ['POST', reviews]);
      const { spec } = (await new Response(inbound.body()).json()) as { spec: unknown };
      const { nonResourceAttributes } = spec as { nonResourceAttributes: Attributes };
      const server = outbound.destination.id;
      asked.push({ server, who: whoOf(outbound), attributes: nonResourceAttributes });
      const answer = state.failing.get(server);
      const response = answer?.(outbound) ?? reviewed(state.rule(whoOf(outbound), nonResourceAttributes));
      return recordingTransport(() => response).send(outbound, inbound, onHead);
    },
  };
  const { app, receiver } = await testApp({
    ...(options.held === false ? {} : { snapshot }),
    transport,
    connection: options.connection ?? {},
    gate: options.gate,
    monotonicClock: () => state.now,
  });
  const ask = async (path: string, headers: Record<string, string> = {}, method = 'GET', body?: string) => {
    const init = { method, headers, ...(body === undefined ? {} : { body }) };
    const response = await app.request(`https://router.example${path}`, init);
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return { ask, asked, state, receiver };
}

test('the group system:masters is let in at once, and no server is asked', async () => {
  const { ask, asked } = await cluster({ connection: userConnection('admin', ['system:masters']) });
  assert.equal((await ask(statusPath)).status, 200);
  assert.deepEqual(asked, []);
});

test('a monitor may read what its role names and nothing else, asked in its own name for path and verb', async () => {
  const token = { authorization: 'Bearer of-the-monitor' };
  const { ask, asked } = await cluster({
    rule: (who, { path, verb }) => who === token.authorization && path === statusPath && verb === 'get',
  });
  assert.equal((await ask(statusPath, token)).status, 200);
  const put = await ask(snapshotPath, token, 'PUT', await seal(snapshot));
  assert.equal(put.status, 403);
  assert.equal(
    JSON.parse(put.text).message,
    `forbidden: the user of this token cannot put path "${snapshotPath}"`,
  );
  assert.deepEqual(asked, [
    { server: localId, who: token.authorization, attributes: { path: statusPath, verb: 'get' } },
    { server: localId, who: token.authorization, attributes: { path: snapshotPath, verb: 'put' } },
  ]);
});

test('many who ask for the same at the same time are asked for once; of one that leaves nobody takes a word', async () => {
  const token = { authorization: 'Bearer of-the-monitor' };
  const { ask, asked } = await cluster({ rule: () => true });
  const all = await Promise.all(Array.from({ length: 50 }, () => ask(statusPath, token)));
  assert.ok(all.every(({ status }) => status === 200));
  assert.equal(asked.length, 1);
  const other = { authorization: 'Bearer of-another' };
  await Promise.all([ask(statusPath, token), ask(statusPath, other)]);
  assert.equal(asked.length, 2, 'another caller is another question');
});

test('the sync job may push where RBAC lets it, and who may not push does not by a good signature', async () => {
  const rule: Rule = (who, { path, verb }) => who === 'sync' && path === snapshotPath && verb === 'put';
  const next = await seal({ ...snapshot, metadata: { ...snapshot.metadata, generation: 2 } });
  const stranger = await cluster({ rule, connection: userConnection('mallory') });
  const refused = await stranger.ask(snapshotPath, {}, 'PUT', next);
  assert.equal(refused.status, 403);
  assert.equal(
    JSON.parse(refused.text).message,
    `forbidden: User "mallory" cannot put path "${snapshotPath}"`,
  );
  assert.equal(stranger.receiver.current()?.generation, 1);
  const sync = await cluster({ rule, connection: userConnection('sync') });
  assert.equal((await sync.ask(snapshotPath, {}, 'PUT', next)).status, 200);
  assert.equal((await sync.ask(statusPath)).status, 403);
});

test('an anonymous caller is asked for as anonymous: the 403 that its question gets counts, and a 401 is passed on', async () => {
  const { ask, asked, state } = await cluster();
  state.failing.set(localId, () => Response.json({ kind: 'Status', code: 403 }, { status: 403 }));
  const { status, text } = await ask(statusPath, {
    'x-remote-user': 'admin',
    'x-remote-group': 'system:masters',
  });
  assert.equal(status, 403);
  assert.equal(
    JSON.parse(text).message,
    `forbidden: User "system:anonymous" cannot get path "${statusPath}"`,
  );
  assert.deepEqual(
    asked.map(({ who }) => who),
    ['nobody'],
  );
  state.now += 10_000;
  state.failing.set(localId, () => Response.json({ kind: 'Status', code: 401 }, { status: 401 }));
  assert.equal((await ask(statusPath)).status, 401);
});

test("a server's word counts for ten seconds, allowed or denied: a revoked binding is gone by then", async () => {
  const { ask, asked, state } = await cluster({ rule: () => true, connection: userConnection('jane') });
  assert.equal((await ask(statusPath)).status, 200);
  state.rule = () => false;
  state.now += 9_999;
  assert.equal((await ask(statusPath)).status, 200);
  assert.equal(asked.length, 1);
  state.now += 1;
  assert.equal((await ask(statusPath)).status, 403);
  state.rule = () => true;
  state.now += 9_999;
  assert.equal((await ask(statusPath)).status, 403);
  state.now += 1;
  assert.equal((await ask(statusPath)).status, 200);
  assert.equal(asked.length, 3);
});

test('what is remembered of one credential, path or verb counts for no other', async () => {
  const { ask, asked } = await cluster({ rule: (who) => who === 'Bearer good' });
  assert.equal((await ask(statusPath, { authorization: 'Bearer good' })).status, 200);
  assert.equal((await ask(statusPath, { authorization: 'Bearer bad' })).status, 403);
  assert.equal((await ask(statusPath)).status, 403);
  assert.equal(
    (await ask(statusPath, { authorization: 'Bearer good', 'impersonate-user': 'jane' })).status,
    200,
  );
  assert.equal((await ask(`${prefix}/v1/explain?url=/`, { authorization: 'Bearer good' })).status, 200);
  assert.equal((await ask(statusPath, { authorization: 'Bearer good' }, 'HEAD')).status, 200);
  assert.equal(asked.length, 6);
  assert.equal((await ask(`${statusPath}?x=1`, { authorization: 'Bearer good' })).status, 200);
  assert.equal(asked.length, 6);
});

test('attack: a thousand credentials push the oldest verdict out, and memory does not grow', async () => {
  const { ask, asked } = await cluster();
  for (let index = 0; index <= 1_024; index++) await ask(statusPath, { authorization: `Bearer ${index}` });
  assert.equal(asked.length, 1_025);
  await ask(statusPath, { authorization: 'Bearer 1024' });
  assert.equal(asked.length, 1_025, 'the newest is known');
  await ask(statusPath, { authorization: 'Bearer 0' });
  assert.equal(asked.length, 1_026, 'the oldest is not');
});

test('attack: a super-user who asks for another is not let in as a super-user: the server says whether that other may', async () => {
  for (const name of ['impersonate-user', 'Impersonate-Group', 'Impersonate-Something-New']) {
    const { ask, asked } = await cluster({ connection: userConnection('admin', ['system:masters']) });
    assert.equal((await ask(statusPath, { [name]: 'jane' })).status, 403, name);
    assert.equal(asked.length, 1);
  }
});

test('who may use an own path is asked however many requests are in flight', async () => {
  const gate = new RequestGate({ readOnly: 1, mutating: 1, longRunning: 1 });
  const caller = { kind: 'passthrough' } as const;
  const inbound = inboundFromRequest(new Request(`https://router.example${reviews}`, { method: 'POST' }));
  const requestInfo = parseRequestInfo('POST', reviews);
  const inFlight = { inbound, requestInfo, caller, decision: localDecision('ServedLocally') };
  const never = () => new Promise<never>(() => {});
  void gate.pass(inFlight, never);
  assert.equal((await gate.pass(inFlight, never)).kind, 'response', 'one too many');
  const { ask } = await cluster({ rule: () => true, gate });
  assert.equal((await ask(statusPath)).status, 200);
});

test('the next server is asked when one does not respond, or does not say', async () => {
  const { ask, asked, state } = await cluster({ rule: () => true, connection: userConnection('jane') });
  state.failing.set(localId, () => {
    throw new TransportError('ConnectionClosed', 'broken', { mayHaveBeenProcessed: true });
  });
  state.failing.set('peer-1', () => new Response('not a review'));
  assert.equal((await ask(statusPath)).status, 200);
  assert.ok(
    asked.some(({ server }) => server === 'peer-2'),
    JSON.stringify(asked),
  );
});

test('503 with Retry-After, not 403, while no server says, and nothing of it is remembered', async () => {
  const { ask, state } = await cluster({ rule: () => true, connection: userConnection('jane') });
  for (const id of [localId, 'peer-1', 'peer-2']) {
    state.failing.set(id, () => new Response(null, { status: 500 }));
  }
  const { status, headers } = await ask(statusPath);
  assert.equal(status, 503);
  assert.equal(headers.get('retry-after'), '1');
  state.failing.clear();
  assert.equal((await ask(statusPath)).status, 200);
});

test('a signed snapshot is taken by its signature where no server can be asked, an unsigned one never', async () => {
  const { ask, state } = await cluster({ held: false });
  for (const id of [localId, 'peer-1', 'peer-2']) {
    state.failing.set(id, () => new Response(null, { status: 500 }));
  }
  assert.equal((await ask(snapshotPath, {}, 'PUT', JSON.stringify(snapshot))).status, 401);
  assert.equal((await ask(snapshotPath, {}, 'PUT', await seal(snapshot))).status, 200);
  assert.equal((await ask(snapshotPath)).status, 503, 'the snapshot is shown to nobody meanwhile');
});

test("a front proxy's caller is asked for by X-Remote headers, and its credentials stay here", async () => {
  const { ask, asked } = await cluster({ rule: () => true, connection: frontProxyConnection });
  const headers = { 'x-remote-user': 'dora', authorization: 'Bearer of-the-proxy' };
  assert.equal((await ask(statusPath, headers)).status, 200);
  assert.deepEqual(
    asked.map(({ who }) => who),
    ['dora'],
  );
});

test('health is open, and no server is asked for it', async () => {
  const { ask, asked } = await cluster();
  for (const path of ['/livez', '/readyz', '/healthz']) assert.equal((await ask(path)).status, 200, path);
  assert.deepEqual(asked, []);
});
