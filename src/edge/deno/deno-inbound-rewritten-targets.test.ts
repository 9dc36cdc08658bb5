import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mixedCluster } from '../../../test/support/decision-rows.ts';
import { receiverHolding } from '../../../test/support/test-app.ts';
import { createRouter } from '../../proxy/create-router.ts';
import { handleRequest } from '../../request/handle-request.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { refuseRewrittenTargets } from './deno-inbound.ts';

const router = refuseRewrittenTargets(
  createRouter({
    routingTable: await receiverHolding(mixedCluster),
    transport: { send: () => assert.fail('nothing may be sent') },
  }),
);

const inbound = (target: string): InboundRequest => ({
  method: 'GET',
  target,
  headers: [],
  connection: {},
  body: () => null,
  signal: new AbortController().signal,
});

async function refusalOf(target: string): Promise<string> {
  const accepted = router.accept(inbound(target));
  assert.ok(accepted instanceof Response, target);
  assert.equal(accepted.status, 400);
  const upgrade = await handleRequest(inbound(target), router, silentLogger, () => assert.fail('accepted'));
  assert.equal(upgrade.status, 400);
  const status = (await accepted.json()) as { readonly message: string };
  assert.deepEqual(await upgrade.json(), status);
  return status.message;
}

test('targets that fetch would send in another form are refused, at the door and before an upgrade', async () => {
  for (const target of ['/api/"x"', '/api/<x>', '/api/{x}', "/api?a='b'", '/api/`x`']) {
    assert.match(await refusalOf(target), /percent-encode them/);
  }
});

test('targets that the router refuses are refused in its own words', async () => {
  assert.match(await refusalOf('/api/../x'), /segment '\.' or '\.\.'/);
  assert.match(await refusalOf('/api\\x'), /backslash/);
});

test('targets that are sent as they are pass', () => {
  for (const target of ['/', '/api?', '/api/v1/pods;x/%2F//y/?limit=5&a=%3D|', '//double']) {
    assert.ok(!(router.accept(inbound(target)) instanceof Response), target);
  }
});
