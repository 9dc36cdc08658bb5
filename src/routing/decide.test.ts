import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decisionRows, localId, mixedCluster } from '../../test/support/decision-rows.ts';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import { decide } from './decide.ts';
import type { DecisionContext, DecisionStep } from './decision.ts';

for (const row of decisionRows) {
  const table = row.snapshot === 'none' ? undefined : buildRoutingTable(row.snapshot ?? mixedCluster);
  const context: DecisionContext = {
    serverId: localId,
    reroutedByVerifiedPeer: row.mark === 'verified-peer',
    query: row.target.split('?')[1],
  };
  const requestInfo = parseRequestInfo(row.method ?? 'GET', row.target);

  test(`rule ${row.name}`, () => {
    const { decision, reason, candidates } = decide(requestInfo, table, context);
    assert.deepEqual(
      { decision, reason, candidates: candidates.map((server) => server.id) },
      { decision: row.decision, reason: row.reason, candidates: row.candidates ?? [] },
    );
  });

  test(`rule ${row.name}: the trace ends at the rule that matched and changes nothing`, () => {
    const trace: DecisionStep[] = [];
    assert.deepEqual(decide(requestInfo, table, { ...context, trace }), decide(requestInfo, table, context));
    assert.equal(
      trace.findIndex((step) => step.matched),
      trace.length - 1,
    );
    assert.equal(trace.at(-1)?.rule[0], traceRule(row));
  });
}

/** The rule at which the walk ends: the row's own, but for a mark that does not count. */
function traceRule(row: (typeof decisionRows)[number]): string | undefined {
  return row.mark === 'anyone' ? '7' : row.name[0];
}

test('a decision other than peer is the same object each time: nothing is allocated', () => {
  const table = buildRoutingTable(mixedCluster);
  const context: DecisionContext = {
    serverId: localId,
    reroutedByVerifiedPeer: false,
  };
  for (const target of ['/version', '/api/v1/pods', '/apis/example.com/v1/widgets', '/apis/x.example/v1/y']) {
    const requestInfo = parseRequestInfo('GET', target);
    assert.equal(decide(requestInfo, table, context), decide(requestInfo, table, context));
  }
});
