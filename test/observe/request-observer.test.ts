import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { TransportError } from '../../src/request/destination.ts';
import type { RequestObserver } from '../../src/request/inbound.ts';
import { localId, mixedCluster } from '../support/clusters/decision-rows.ts';
import { recordingTransport } from '../support/routers/recording-transport.ts';
import { type TestAppOptions, testApp, userConnection } from '../support/routers/test-app.ts';
import { snapshotOf } from '../support/snapshots/snapshot-builder.ts';

/** Writes down every moment of every request, with what is known of it then. */
function recorder(): { readonly observer: RequestObserver; readonly calls: string[] } {
  const calls: string[] = [];
  const observer: RequestObserver = {
    accepted: ({ requestInfo }) => calls.push(`accepted ${requestInfo?.verb}`),
    attempted: (_, { destination, status, failure }) =>
      calls.push(`attempt ${destination.kind} ${destination.id}: ${status ?? failure}`),
    responded: ({ caller, decision, status }) => {
      const decided = decision === undefined ? '' : ` ${decision.decision} ${decision.reason}`;
      calls.push(`responded ${status}, ${caller?.kind}${decided}`);
    },
    finished: () => calls.push('finished'),
  };
  return { observer, calls };
}

async function observe(
  path: string,
  options: TestAppOptions = {},
  init: RequestInit = {},
): Promise<string[]> {
  const { observer, calls } = recorder();
  const { app } = await testApp({
    snapshot: mixedCluster,
    connection: userConnection('jane'),
    observers: [observer],
    ...options,
  });
  await app.request(`https://router${path}`, init);
  return calls;
}

const jobs = '/apis/batch/v1/jobs';
const onlyPeers = snapshotOf({
  [localId]: ['v1/pods'],
  'peer-a': ['batch/v1/jobs'],
  'peer-b': ['batch/v1/jobs'],
});

describe('the moments that observers are told of', () => {
  it('a request that a destination answers has all of them, in order', async () => {
    assert.deepEqual(await observe('/api/v1/pods', { snapshot: onlyPeers }), [
      'accepted list',
      `attempt local ${localId}: 200`,
      'responded 200, authenticated local ServedLocally',
      'finished',
    ]);
  });

  it('a second try is a second attempt, behind the failure of the first', async () => {
    const transport = recordingTransport(() => {
      throw new TransportError('ConnectFailed', 'refused', { mayHaveBeenProcessed: false });
    });
    const calls = await observe(jobs, { snapshot: onlyPeers, transport, random: () => 0 });
    const ofAttempts = calls.filter((call) => call.startsWith('attempt'));
    assert.deepEqual(
      ofAttempts.map((call) => call.replace(/peer-[ab]/, 'peer')),
      ['attempt peer peer: ConnectFailed', 'attempt peer peer: ConnectFailed'],
    );
    assert.deepEqual(calls.slice(-2), ['responded 503, authenticated peer ServedByPeer', 'finished']);
  });

  it('a refused target is answered and neither accepted nor decided', async () => {
    const calls = await observe('/api/v1/pods/%00');
    assert.deepEqual(calls, ['responded 400, undefined', 'finished']);
  });

  it("health and the router's own paths are seen, without a decision", async () => {
    assert.deepEqual(await observe('/livez'), ['accepted get', 'responded 200, undefined', 'finished']);
    assert.deepEqual(await observe('/.mixed-version-proxy/v1/status'), [
      'accepted get',
      'responded 503, authenticated',
      'finished',
    ]);
  });

  it('an answer that stands in for the local one counts with its own code, not with the one it replaces', async () => {
    const transport = recordingTransport(() => new Response('not here', { status: 404 }));
    const calls = await observe(jobs, { snapshot: undefined, transport });
    assert.deepEqual(calls.slice(-3), [
      `attempt local ${localId}: 404`,
      'responded 503, authenticated local NoSnapshot',
      'finished',
    ]);
  });

  it('a fault of the router itself gets 500', async () => {
    const transport = recordingTransport(() => {
      throw new RangeError('a fault');
    });
    const calls = await observe('/api/v1/pods', { snapshot: onlyPeers, transport });
    assert.deepEqual(calls.slice(-3), [
      `attempt local ${localId}: InternalError`,
      'responded 500, authenticated local ServedLocally',
      'finished',
    ]);
  });
});

test("a client's trace context reaches the server as it came", async () => {
  const transport = recordingTransport();
  const { app } = await testApp({ snapshot: onlyPeers, connection: userConnection('jane'), transport });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await app.request(`https://router${jobs}`, { headers: { traceparent, tracestate: 'vendor=1' } });
  const sent = transport.sent[0]?.headers ?? [];
  assert.deepEqual(allHeaders(sent, 'traceparent'), [traceparent]);
  assert.deepEqual(allHeaders(sent, 'tracestate'), ['vendor=1']);
});
