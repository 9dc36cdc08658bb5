import assert from 'node:assert/strict';
import { firstHeader } from '../../../src/apimachinery/raw-headers.ts';
import { type DecisionRow, decisionRows, localId } from '../../support/clusters/decision-rows.ts';
import { user } from '../callers.ts';
import { answerNotFound } from '../cluster.ts';
import type { CaseGroup, ConformanceCase, World } from '../conformance-case.ts';

/** Every row of the decision list, sent through the router to real servers that all answer 404. */
export const decisions: CaseGroup = {
  title: 'The decision list',
  cases: decisionRows.map(
    (row): ConformanceCase => ({
      id: `decisions/${row.name.replaceAll(/[^a-z0-9]+/gi, '-')}`,
      rule: `Rule ${row.name}`,
      citation: 'docs/explanation/architecture.md, The decision',
      ...(row.mark === undefined || row.mark === 'anyone' ? {} : { needs: ['assertions'] as const }),
      snapshot: row.snapshot === 'none' ? 'none' : 'current',
      run: (world) => walk(world, row),
    }),
  ),
};

async function walk(world: World, row: DecisionRow): Promise<void> {
  const { cluster } = world;
  answerNotFound(cluster);
  const rerouted = row.mark !== undefined;
  const answer = await world.ask(
    {
      ...(row.method === undefined ? {} : { method: row.method }),
      target: row.target,
      headers: rerouted ? ['X-Kubernetes-Peer-Proxied', 'true'] : [],
    },
    row.mark === 'anyone' ? undefined : user('alice'),
  );

  assert.equal(answer.status, row.status ?? 404);
  const arrived = cluster.all.flatMap((peer) => peer.requests.map((request) => ({ peer, request })));
  assert.equal(arrived.length, row.decision === 'unavailable' ? 0 : 1);
  for (const { peer, request } of arrived) {
    assert.equal(request.target, row.target, 'the target arrives byte for byte');
    if (row.decision === 'local') assert.equal(peer.id, localId);
    if (row.decision === 'peer') assert.ok(row.candidates?.includes(peer.id), peer.id);
    assert.equal(
      firstHeader(request.headers, 'x-kubernetes-peer-proxied'),
      row.decision === 'peer' ? 'true' : undefined,
      'the reroute mark goes to peers and to nobody else',
    );
  }
}
