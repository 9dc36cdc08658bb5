import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DecisionRow, decisionRows, localId, mixedCluster } from './support/decision-rows.ts';
import { recordingTransport } from './support/recording-transport.ts';
import { frontProxyConnection, testApp } from './support/test-app.ts';

/** Sends the row through the whole app; every destination answers 404, so that a local one shows. */
async function walk(row: DecisionRow) {
  const snapshot = row.snapshot === 'none' ? undefined : (row.snapshot ?? mixedCluster);
  const transport = recordingTransport(
    ({ destination }) => new Response(`404 page not found on ${destination.id}`, { status: 404 }),
  );
  const { app } = await testApp({
    snapshot,
    transport,
    connection: row.mark === 'anyone' ? {} : frontProxyConnection,
  });
  const headers = new Headers(row.mark === 'anyone' ? {} : { 'x-remote-user': 'alice' });
  if (row.mark !== undefined) headers.set('x-kubernetes-peer-proxied', 'true');
  const request = new Request(`https://router.example${row.target}`, {
    method: row.method ?? 'GET',
    headers,
  });
  return { response: await app.fetch(request), sent: transport.sent };
}

for (const row of decisionRows) {
  test(`app.fetch, rule ${row.name}`, async () => {
    const { response, sent } = await walk(row);
    const destinations = sent.map(({ destination }) => destination);
    switch (row.decision) {
      case 'unavailable': {
        assert.deepEqual(destinations, []);
        break;
      }
      case 'local': {
        assert.deepEqual(
          destinations.map(({ kind, id }) => ({ kind, id })),
          [{ kind: 'local', id: localId }],
        );
        break;
      }
      case 'peer': {
        assert.equal(destinations.length, 1);
        assert.equal(destinations[0]?.kind, 'peer');
        assert.ok(row.candidates?.includes(destinations[0]?.id ?? ''));
        break;
      }
    }
    for (const outbound of sent) assert.equal(outbound.target, row.target);
    assert.equal(response.status, row.status ?? 404);
    if (row.status === 503) {
      const status = (await response.json()) as { reason: string; details: { retryAfterSeconds: number } };
      assert.equal(status.reason, 'ServiceUnavailable');
      assert.equal(response.headers.get('retry-after'), String(status.details.retryAfterSeconds));
    }
  });
}
