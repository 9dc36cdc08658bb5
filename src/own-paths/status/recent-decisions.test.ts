import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inboundRequest } from '../../../test/support/inbound-request.ts';
import { parseRequestInfo } from '../../apimachinery/request-info.ts';
import type { Destination } from '../../request/destination.ts';
import { RequestRecord } from '../../request/request-record.ts';
import type { Decision } from '../../routing/decision.ts';
import { loggablePath, RecentDecisions } from './recent-decisions.ts';

const local: Decision = { decision: 'local', reason: 'ServedLocally', candidates: [] };
const peer: Decision = { decision: 'peer', reason: 'ServedByPeer', candidates: [] };
const destination = (id: string): Destination => ({
  kind: 'peer',
  id,
  origin: 'https://10.0.0.2:6443',
  serverName: 'kubernetes.default.svc',
  trust: { kind: 'peer-ca' },
});

function setUp() {
  const time = { now: 1_000_000 };
  const clock = () => time.now;
  const decisions = new RecentDecisions({ clock, monotonicClock: clock });
  const begin = (target: string, decision: Decision) => {
    const record = new RequestRecord({ ...inboundRequest(), target }, [decisions], clock);
    record.accepted(parseRequestInfo('GET', target));
    record.decision = decision;
    return record;
  };
  const pass = (target: string, decision: Decision) => begin(target, decision).responded(200);
  return { time, decisions, begin, pass };
}

describe('recent decisions', () => {
  it('tell where a request went, by which try, and what it was answered', () => {
    const { decisions, begin } = setUp();
    const record = begin('/apis/batch/v1/jobs?limit=500', peer);
    record.attemptBegun(destination('cp-b'));
    record.attemptFailed('ConnectFailed');
    record.attemptBegun(destination('cp-c'));
    record.attemptResponded(200);
    record.responded(200);
    assert.deepEqual(decisions.list(), [
      {
        at: 1_000_000,
        method: 'GET',
        path: '/apis/batch/v1/jobs',
        decision: 'peer',
        reason: 'ServedByPeer',
        destination: 'cp-c',
        attempts: 2,
        failure: undefined,
        status: 200,
      },
    ]);
  });

  it('are a sample: a flood for the local server neither grows them nor pushes out the others', () => {
    const { time, decisions, pass } = setUp();
    pass('/apis/batch/v1/jobs', peer);
    for (let request = 0; request < 10_000; request++) pass('/api/v1/pods', local);
    assert.equal(decisions.list().length, 6);
    for (let second = 0; second < 100; second++) {
      time.now += 1000;
      for (let request = 0; request < 10; request++) pass('/api/v1/pods', local);
    }
    const kept = decisions.list();
    assert.equal(kept.length, 51);
    assert.equal(kept.filter(({ decision }) => decision === 'peer').length, 1);
  });

  it('stand in order, the newest first', () => {
    const { time, decisions, pass } = setUp();
    for (let request = 0; request < 60; request++) {
      time.now += 1000;
      pass(`/api/v1/namespaces/n${request}`, request % 2 === 0 ? local : peer);
    }
    const times = decisions.list().map(({ at }) => at);
    assert.deepEqual(
      times,
      times.toSorted((left, right) => right - left),
    );
    assert.equal(decisions.list()[0]?.path, '/api/v1/namespaces/n59');
  });

  it('leave out requests that were never decided on, as those of the status page itself', () => {
    const { decisions } = setUp();
    const inbound = { ...inboundRequest(), target: '/.mixed-version-proxy/' };
    new RequestRecord(inbound, [decisions], () => 0).responded(200);
    assert.deepEqual(decisions.list(), []);
  });

  it('tell of a client that went away before there was a response', () => {
    const { decisions, begin } = setUp();
    begin('/api/v1/pods', local).finished();
    assert.equal(decisions.list().length, 1);
    assert.equal(decisions.list()[0]?.status, undefined);
  });
});

describe('a path that is shown', () => {
  for (const [name, target, shown] of [
    ['has no query', '/api/v1/pods?token=secret&command=secret', '/api/v1/pods'],
    [
      'ends where a proxied application begins',
      '/api/v1/namespaces/a/pods/b/proxy/reset?t=1',
      '/api/v1/namespaces/a/pods/b/proxy/…',
    ],
    ['ends there also in its old form', '/api/v1/proxy/namespaces/a/pods/b/secret', '/api/v1/proxy/…'],
    [
      'stays whole without anything behind it',
      '/api/v1/namespaces/a/pods/b/proxy',
      '/api/v1/namespaces/a/pods/b/proxy',
    ],
    ['is hidden where an escape hides its parts', '/api/v1/namespaces/a/pods/b/%70roxy/secret', '/…'],
    ['is cut when it is long', `/${'x'.repeat(500)}`, `/${'x'.repeat(199)}…`],
  ] as const) {
    it(name, () => {
      assert.equal(loggablePath(target, parseRequestInfo('GET', target)), shown);
    });
  }
});
