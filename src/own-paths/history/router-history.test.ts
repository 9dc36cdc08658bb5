import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inboundRequest } from '../../../test/support/routers/inbound-request.ts';
import { type ServerOptions, snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { parseRequestInfo } from '../../apimachinery/request-info.ts';
import type { Destination } from '../../request/destination.ts';
import { RequestRecord } from '../../request/inbound.ts';
import type { Caller } from '../../request/user-info.ts';
import type { Decision } from '../../routing/decision.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { RouterHistory } from './router-history.ts';

const local: Decision = { decision: 'local', reason: 'ServedLocally', candidates: [] };
const peer: Decision = { decision: 'peer', reason: 'ServedByPeer', candidates: [] };
const start = Date.parse('2026-01-31T12:00:00Z');
const minute = 60_000;
const jobs = '/apis/batch/v1/namespaces/default/jobs';

const destination = (id: string): Destination => ({
  kind: 'peer',
  id,
  origin: 'https://10.0.0.2:6443',
  serverName: 'kubernetes.default.svc',
  trust: { kind: 'peer-ca' },
});
const user = (name: string): Caller => ({
  kind: 'authenticated',
  user: { name, uid: '', groups: [], extra: new Map() },
  authenticator: 'x509',
  viaVerifiedPeer: false,
});

interface Request {
  readonly target?: string;
  readonly server?: string;
  readonly decision?: Decision;
  readonly status?: number;
  readonly userAgent?: string;
  readonly caller?: Caller;
}

function setUp() {
  const time = { now: start };
  const clock = () => time.now;
  const preferred: { minor: string | undefined } = { minor: undefined };
  const history = new RouterHistory({
    clock,
    preferredMinor: () => preferred.minor,
  });
  let generation = 0;
  const use = (servers: Readonly<Record<string, ServerOptions>>) => {
    generation += 1;
    const createdAt = new Date(time.now).toISOString();
    const table = buildRoutingTable(snapshotOf(servers, { generation, createdAt }));
    history.tableInUse(table);
    return table;
  };
  const pass = ({ target = '/api/v1/pods', server = 'a', decision = local, ...request }: Request = {}) => {
    const { status = 200, userAgent = 'kubectl/v1.36.0', caller = user('jane') } = request;
    const inbound = { ...inboundRequest(), target, headers: ['User-Agent', userAgent] };
    const record = new RequestRecord(inbound, [history], clock);
    record.accepted(parseRequestInfo('GET', target));
    record.caller = caller;
    record.decision = decision;
    record.attemptBegun(destination(server));
    record.responded(status);
  };
  const happened = () =>
    history
      .view()
      .timeline.map(({ at, event, server, from, to }) =>
        [at.slice(11, 16), event, server, from, to].filter((part) => part !== undefined).join(' '),
      )
      .toSorted((left, right) => left.slice(0, 5).localeCompare(right.slice(0, 5)));
  return { time, preferred, history, use, pass, happened };
}

const older: ServerOptions = { serves: ['v1/pods'], version: 'v1.35.0' };
const newer: ServerOptions = { serves: ['v1/pods', 'batch/v1/jobs'], version: 'v1.36.0' };

describe('the history of requests', () => {
  it('has requests and codes by server and by version, minute by minute', () => {
    const { time, history, use, pass } = setUp();
    use({ a: older, b: newer });
    pass();
    pass({ status: 503 });
    pass({ status: 429 });
    time.now = start + minute;
    for (let request = 0; request < 120; request++) pass({ server: 'b' });
    time.now = start + 2 * minute;
    const { servers, versions, total, since } = history.view();
    assert.equal(since, '2026-01-31T12:00:00.000Z');
    assert.deepEqual(
      servers.map(({ id, requests, refused, failed, perSecond }) => [
        id,
        requests,
        refused,
        failed,
        perSecond,
      ]),
      [
        ['a', 3, 1, 1, 0],
        ['b', 120, 0, 0, 2],
      ],
    );
    assert.deepEqual(
      versions.map(({ version, requests }) => [version, requests]),
      [
        ['v1.35.0', 3],
        ['v1.36.0', 120],
      ],
    );
    assert.equal(total.requests, 123);
    assert.deepEqual(total.perMinute.slice(-3), [3, 120, 0]);
  });

  it('has a rate before a whole minute has passed: by the seconds since the start', () => {
    const { time, history, use, pass } = setUp();
    use({ a: older });
    time.now = start + 15_000;
    for (let request = 0; request < 90; request++) pass();
    assert.equal(history.view().total.perSecond, 6);
    assert.deepEqual(history.view().secondsOfMinutes.slice(-2), [0, 15]);
    time.now = start + minute + 15_000;
    assert.equal(history.view().total.perSecond, 1.5, 'of the last whole minute');
  });

  it('counts a request once over all routers: where its client came in', () => {
    const { history, use, pass } = setUp();
    use({ a: older, b: newer });
    pass({ target: jobs, decision: { ...local, reason: 'AlreadyRerouted' } });
    assert.equal(history.view().total.requests, 0);
    assert.deepEqual(history.view().partlyServed, []);
  });

  it('is of one hour, and keeps the versions of a server apart', () => {
    const { time, history, use, pass } = setUp();
    use({ a: older });
    pass();
    use({ a: newer });
    pass();
    assert.deepEqual(
      history.view().versions.map(({ version, requests }) => [version, requests]),
      [
        ['v1.35.0', 1],
        ['v1.36.0', 1],
      ],
    );
    assert.deepEqual(history.view().servers[0]?.requests, 2);
    time.now += 60 * minute;
    assert.deepEqual(history.view().servers, []);
    assert.equal(history.view().total.perMinute.length, 60);
  });

  it('says what was rerouted and why', () => {
    const { history, use, pass } = setUp();
    use({ a: older, b: newer });
    pass({ target: jobs, server: 'b', decision: peer });
    pass({ target: jobs, server: 'b', decision: peer });
    pass();
    const { rerouted } = history.view();
    assert.deepEqual(rerouted, {
      requests: 2,
      reasons: [{ reason: 'ServedByPeer', requests: 2 }],
    });
  });

  it('leaves out health checks and the router’s own paths, which are never decided on', () => {
    const { history } = setUp();
    const record = new RequestRecord({ ...inboundRequest(), target: '/readyz' }, [history], () => 0);
    record.accepted(parseRequestInfo('GET', '/readyz'));
    record.responded(200);
    assert.equal(history.view().total.requests, 0);
  });
});

describe('who uses what not all servers serve', () => {
  it('is kept by user agent and user, with what goes with the upgrade named as such', () => {
    const { history, use, pass } = setUp();
    const gone: ServerOptions = { serves: ['v1/pods', 'batch/v1beta1/cronjobs'], version: 'v1.24.0' };
    use({ a: gone, b: newer });
    pass({ target: '/apis/batch/v1beta1/cronjobs', userAgent: 'old-operator/1.0', caller: user('operator') });
    pass({
      target: '/apis/batch/v1beta1/cronjobs',
      userAgent: 'old-operator/1.0',
      caller: { kind: 'passthrough' },
    });
    pass({ target: jobs });
    pass({ target: '/api/v1/pods', userAgent: 'nobody/1.0' });
    const [vanishing, arriving] = history.view().partlyServed;
    assert.deepEqual(
      [vanishing?.group, vanishing?.version, vanishing?.resource, vanishing?.vanishes, vanishing?.requests],
      ['batch', 'v1beta1', 'cronjobs', true, 2],
    );
    assert.deepEqual(
      vanishing?.userAgents.map(({ name, requests }) => [name, requests]),
      [['old-operator/1.0', 2]],
    );
    assert.deepEqual(
      vanishing?.users.map(({ name }) => name),
      ['operator', ''],
    );
    assert.deepEqual([arriving?.resource, arriving?.vanishes], ['jobs', false]);
    assert.ok(!JSON.stringify(history.view()).includes('nobody'));
  });

  it('is not shown any more once every server serves it', () => {
    const { history, use, pass } = setUp();
    use({ a: older, b: newer });
    pass({ target: jobs });
    use({ a: newer, b: newer });
    assert.deepEqual(history.view().partlyServed, []);
  });

  it('is still shown when the upgrade has removed it from every server', () => {
    const { time, history, use, pass } = setUp();
    const gone: ServerOptions = { serves: ['v1/pods', 'batch/v1beta1/cronjobs'], version: 'v1.24.0' };
    use({ a: gone, b: newer });
    pass({ target: '/apis/batch/v1beta1/cronjobs', userAgent: 'old-operator/1.0' });
    use({ a: newer, b: newer });
    const shown = () => history.view().partlyServed.map(({ resource, vanishes }) => [resource, vanishes]);
    assert.deepEqual(shown(), [['cronjobs', true]]);
    time.now += 3_600_000;
    assert.deepEqual(shown(), [], 'for an hour');
  });

  it('is bounded: an attacker who makes up names and resources fills neither memory nor the page', () => {
    const { history, use, pass } = setUp();
    const many = Array.from({ length: 300 }, (_, index) => `group${index}.io/v1/things`);
    use({ a: older, b: { serves: [...many, 'batch/v1/jobs'], version: 'v1.36.0' } });
    for (let request = 0; request < 1000; request++) {
      pass({
        target: jobs,
        decision: peer,
        userAgent: `${request}-${'x'.repeat(10_000)}`,
        caller: user(`user-${request}-${'y'.repeat(1000)}`),
      });
      pass({ target: `/apis/group${request % 300}.io/v1/things`, decision: peer });
    }
    const view = history.view();
    const use0 = view.partlyServed.find(({ resource }) => resource === 'jobs');
    assert.deepEqual([use0?.userAgents.length, use0?.otherUserAgents, use0?.users.length], [20, 980, 20]);
    assert.equal(view.partlyServed.length, 100);
    assert.ok(view.otherPartlyServed > 0);
    assert.ok(JSON.stringify(view).length < 100_000);
  });
});

describe('the timeline of an upgrade', () => {
  it('tells of servers that join, leave and change version', () => {
    const { time, preferred, use, happened } = setUp();
    use({ a: older, b: older });
    time.now += minute;
    preferred.minor = '1.35';
    use({ a: newer, b: older, c: newer });
    time.now += minute;
    use({ a: newer, c: { ...newer, departedAt: new Date(time.now).toISOString() } });
    time.now += minute;
    use({ a: newer, c: newer });
    assert.deepEqual(happened(), [
      '12:00 FirstSnapshot',
      '12:01 VersionChanged a v1.35.0 v1.36.0',
      '12:01 ServerJoined c v1.36.0',
      '12:01 PreferredVersionChanged 1.35',
      '12:02 ServerDeparted c',
      '12:02 ServerLeft b v1.35.0',
      '12:03 ServerReturned c',
    ]);
  });

  it('tells of another preferred version in a table that stays', () => {
    const { time, preferred, history, use, happened } = setUp();
    const table = use({ a: older });
    time.now += 17 * minute;
    preferred.minor = '1.35';
    history.tableInUse(table);
    history.tableInUse(table);
    assert.deepEqual(happened(), ['12:00 FirstSnapshot', '12:17 PreferredVersionChanged 1.35']);
  });

  it('tells of health, which pushes out nothing else however it comes and goes', () => {
    const { history, use, happened } = setUp();
    use({ a: older });
    const up = { id: 'a', status: 'ready', reason: undefined, isDown: false } as const;
    const down = { id: 'a', status: 'unreachable', reason: undefined, isDown: true } as const;
    history.changed({ ...up, wasDown: false });
    for (let time = 0; time < 500; time++) {
      history.changed({ ...down, wasDown: false });
      history.changed({ ...up, wasDown: true });
    }
    const events = happened();
    assert.equal(events.length, 101);
    assert.ok(events.includes('12:00 FirstSnapshot'));
    assert.ok(events.includes('12:00 ServerUnhealthy a unreachable'));
  });
});
