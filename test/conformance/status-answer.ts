import assert from 'node:assert/strict';
import { firstHeader } from '../../src/apimachinery/raw-headers.ts';
import type { Status, StatusReason } from '../../src/apimachinery/status.ts';
import type { WholeAnswer, World } from './conformance-case.ts';

/** The response is a `metav1.Status` of the router's own with that code and reason; the Status. */
export function assertStatus(answer: WholeAnswer, code: number, reason: StatusReason): Status {
  assert.equal(answer.status, code, answer.body);
  assert.equal(firstHeader(answer.headers, 'content-type'), 'application/json');
  const status = JSON.parse(answer.body) as Status;
  assert.equal(status.kind, 'Status');
  assert.equal(status.apiVersion, 'v1');
  assert.equal(status.status, 'Failure');
  assert.equal(status.code, code);
  assert.equal(status.reason, reason);
  return status;
}

export function assertNothingArrived({ cluster }: World): void {
  assert.deepEqual(
    cluster.all.flatMap(({ requests }) => requests.map(({ target }) => target)),
    [],
  );
}
