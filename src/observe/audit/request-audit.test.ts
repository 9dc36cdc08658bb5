import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { mixedCluster } from '../../../test/support/decision-rows.ts';
import { recordingTransport } from '../../../test/support/recording-transport.ts';
import { type TestAppOptions, testApp, userConnection } from '../../../test/support/test-app.ts';
import { AuthenticationError } from '../../identity/incoming/authenticator.ts';
import { maskText } from '../../node/exchange/mask-secrets.ts';
import { TransportError } from '../../request/transport-error.ts';
import { type AuditEvent, auditStages } from './audit-event.ts';
import type { AuditPolicy, AuditPolicyRule } from './parse-audit-policy.ts';
import { requestAudit } from './request-audit.ts';

const everything: AuditPolicyRule = {
  level: 'Metadata',
  users: [],
  userGroups: [],
  verbs: [],
  resources: [],
  namespaces: [],
  nonResourceURLs: [],
  omitStages: [],
};
const auditAll: AuditPolicy = { rules: [everything], omitStages: [] };

interface Asked {
  readonly target: string;
  readonly init?: RequestInit;
  readonly policy?: AuditPolicy;
  readonly options?: TestAppOptions;
}

async function eventsOf({
  target,
  init = {},
  policy = auditAll,
  options = {},
}: Asked): Promise<AuditEvent[]> {
  const events: AuditEvent[] = [];
  let now = Date.UTC(2026, 0, 31, 12) + 0.25;
  const observer = requestAudit({
    policy,
    sink: { write: (event) => events.push(event) },
    mask: maskText,
    clock: () => now++,
  });
  const { app } = await testApp({
    snapshot: mixedCluster,
    connection: userConnection('alice', ['dev']),
    observers: [observer],
    ...options,
  });
  const response = await app.request(`https://router${target}`, {
    ...init,
    headers: { 'audit-id': 'id-1', ...init.headers },
  });
  await response.arrayBuffer();
  return events;
}

const stagesOf = (events: readonly AuditEvent[]) =>
  events.map(({ stage, responseStatus }) => [stage, responseStatus?.code ?? 0]);

describe('audit events', () => {
  it('of a rerouted request say who asked for what, where it went and why', async () => {
    const [received, complete, ...others] = await eventsOf({
      target: '/apis/batch/v1/namespaces/shop/jobs/pay/status?dryRun=All',
      init: {
        method: 'PUT',
        headers: { 'user-agent': 'kubectl/v1.33', 'x-forwarded-for': '192.0.2.1, bogus' },
      },
    });
    assert.deepEqual(others, []);
    const common = {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: 'id-1',
      requestURI: '/apis/batch/v1/namespaces/shop/jobs/pay/status?dryRun=All',
      verb: 'update',
      user: { username: 'alice', groups: ['dev', 'system:authenticated'] },
      sourceIPs: ['192.0.2.1', '10.0.0.8'],
      userAgent: 'kubectl/v1.33',
      objectRef: {
        resource: 'jobs',
        namespace: 'shop',
        name: 'pay',
        apiGroup: 'batch',
        apiVersion: 'v1',
        subresource: 'status',
      },
      requestReceivedTimestamp: '2026-01-31T12:00:00.000250Z',
    };
    assert.deepEqual(received, {
      ...common,
      stage: 'RequestReceived',
      stageTimestamp: '2026-01-31T12:00:00.001250Z',
    });
    const destination = complete?.annotations?.['mixed-version-proxy/destination'];
    assert.notEqual(destination, undefined);
    assert.deepEqual(complete, {
      ...common,
      stage: 'ResponseComplete',
      stageTimestamp: '2026-01-31T12:00:00.002250Z',
      responseStatus: { metadata: {}, code: 200 },
      annotations: {
        'mixed-version-proxy/decision': 'peer',
        'mixed-version-proxy/reason': 'ServedByPeer',
        'mixed-version-proxy/destination': destination,
        'mixed-version-proxy/destination-kind': 'peer',
      },
    });
  });

  it('come at the stages at which kube-apiserver writes them, for every kind of request', async () => {
    const refusing = { authenticators: [{ name: 'x', authenticate: refuse }] };
    const failing = { authenticators: [{ name: 'x', authenticate: fail }] };
    const down = {
      transport: recordingTransport(() => {
        throw new TransportError('ConnectFailed', 'refused', { requestMayHaveArrived: false });
      }),
    };
    for (const [what, asked, expected] of [
      [
        'a read',
        { target: '/api/v1/pods' },
        [
          ['RequestReceived', 0],
          ['ResponseComplete', 200],
        ],
      ],
      [
        'a watch',
        { target: '/api/v1/pods?watch=1' },
        [
          ['RequestReceived', 0],
          ['ResponseStarted', 200],
          ['ResponseComplete', 200],
        ],
      ],
      [
        'health',
        { target: '/livez' },
        [
          ['RequestReceived', 0],
          ['ResponseComplete', 200],
        ],
      ],
      [
        'no response',
        { target: '/apis/batch/v1/jobs', options: down },
        [
          ['RequestReceived', 0],
          ['ResponseComplete', 503],
        ],
      ],
      ['wrong credentials', { target: '/api/v1/pods', options: refusing }, [['ResponseStarted', 401]]],
      [
        'an error of the router',
        { target: '/api/v1/pods', options: failing },
        [
          ['RequestReceived', 0],
          ['Panic', 500],
        ],
      ],
      ['a refused target', { target: '/api/v1/watch' }, []],
      [
        'the own paths',
        { target: '/.mixed-version-proxy/v1/status' },
        [
          ['RequestReceived', 0],
          ['ResponseComplete', 403],
        ],
      ],
    ] as const) {
      assert.deepEqual(stagesOf(await eventsOf(asked)), expected, what);
    }
  });

  it('say how many destinations were tried', async () => {
    const transport = recordingTransport(() => {
      throw new TransportError('ConnectFailed', 'refused', { requestMayHaveArrived: false });
    });
    const events = await eventsOf({ target: '/apis/batch/v1/jobs', options: { transport } });
    assert.equal(events.at(-1)?.annotations?.['mixed-version-proxy/attempts'], '2');
  });

  it('name nobody where the router does not know who calls, and say so', async () => {
    const events = await eventsOf({ target: '/api/v1/pods', options: { connection: {} } });
    assert.deepEqual(
      events.map(({ user }) => user),
      [{}, {}],
    );
    assert.equal(events.at(-1)?.annotations?.['mixed-version-proxy/caller'], 'passthrough');
  });

  it('name whom the caller would like to be, apart from who it is', async () => {
    const [event] = await eventsOf({
      target: '/api/v1/pods',
      init: {
        headers: {
          'impersonate-user': 'j\u00c3\u00bcrgen',
          'impersonate-group': 'ops',
          'impersonate-uid': '7',
          'impersonate-extra-example.com%2Fscope': 'all',
          'x-real-ip': '2001:db8::1',
        },
      },
    });
    assert.equal(event?.user.username, 'alice');
    assert.deepEqual(event?.impersonatedUser, {
      username: 'jürgen',
      uid: '7',
      groups: ['ops'],
      extra: { 'example.com/scope': ['all'] },
    });
    assert.deepEqual(event?.sourceIPs, ['2001:db8::1', '10.0.0.8']);
  });

  it('are not written for what the policy leaves out, nor at the stages that it leaves out', async () => {
    const nobody: AuditPolicy = { rules: [{ ...everything, level: 'None' }], omitStages: [] };
    assert.deepEqual(await eventsOf({ target: '/api/v1/pods', policy: nobody }), []);
    assert.deepEqual(await eventsOf({ target: '/api/v1/pods', policy: { rules: [], omitStages: [] } }), []);
    const atTheEnd: AuditPolicy = { ...auditAll, omitStages: ['RequestReceived'] };
    assert.deepEqual(stagesOf(await eventsOf({ target: '/api/v1/pods', policy: atTheEnd })), [
      ['ResponseComplete', 200],
    ]);
  });

  it('hold no credentials, wherever a client puts them', async () => {
    const events = await eventsOf({
      target: '/api/v1/pods?access_token=hunter2&token=hunter2',
      init: {
        headers: {
          authorization: 'Bearer hunter2hunter2',
          cookie: 'sid=hunter2',
          'user-agent': 'curl Bearer hunter2hunter2',
        },
      },
    });
    assert.equal(events.length, 2);
    assert.doesNotMatch(JSON.stringify(events), /hunter2/);
  });

  it('are valid, whatever is asked for', async () => {
    const text = fc
      .string({ unit: 'binary', maxLength: 20 })
      .map((value) => encodeURIComponent(value.toWellFormed()));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('GET', 'POST', 'DELETE', 'PATCH'),
        fc.constantFrom('/api/v1/', '/apis/batch/v1/namespaces/', '/', '/livez/'),
        fc.array(text, { maxLength: 3 }),
        fc.stringMatching(/^[\x20-\x7e\x80-\xff]{0,40}$/),
        async (method, prefix, parts, header) => {
          const init = {
            method,
            headers: { 'user-agent': header.trim(), 'impersonate-user': header.trim() },
          };
          for (const event of await eventsOf({ target: prefix + parts.join('/'), init })) {
            const read = JSON.parse(JSON.stringify(event));
            assert.equal(read.kind, 'Event');
            assert.equal(read.apiVersion, 'audit.k8s.io/v1');
            assert.equal(read.level, 'Metadata');
            assert.equal(read.auditID, 'id-1');
            assert.ok(auditStages.includes(read.stage));
            assert.match(read.verb, /^[a-z]+$/);
            assert.equal(typeof read.user, 'object');
            assert.ok(read.requestURI.startsWith('/'));
            for (const time of [read.requestReceivedTimestamp, read.stageTimestamp]) {
              assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
            }
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

function refuse(): never {
  throw new AuthenticationError('not let in');
}

function fail(): never {
  throw new Error('an error');
}
