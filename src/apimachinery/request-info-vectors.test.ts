import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { noRequestInfo } from '../../test/support/request-info.ts';
import { parseRequestInfo, type RequestInfo } from './request-info.ts';
import { RequestInfoError } from './request-info-error.ts';
import { isLongRunning } from './subresources.ts';

type Answer = Partial<RequestInfo> & { readonly longRunning?: boolean; readonly error?: string };

// Answers of kube-apiserver's own code; test/fixtures/request-info-vectors.md describes them.
const vectors = JSON.parse(
  readFileSync(new URL('../../test/fixtures/request-info-vectors.json', import.meta.url), 'utf8'),
) as readonly (readonly [method: string, target: string, answer: Answer])[];

function complete({ longRunning = false, ...answer }: Answer, target: string) {
  const [rawPath = ''] = target.split('?', 1);
  return { ...noRequestInfo, path: rawPath, ...answer, longRunning };
}

test('request info and the long-running rule are those of kube-apiserver, on every recorded request', () => {
  const answered = vectors.filter(([, , answer]) => answer.error === undefined);
  assert.ok(answered.length > 2500);
  for (const [method, target, answer] of answered) {
    const requestInfo = parseRequestInfo(method, target);
    const ours = { ...requestInfo, longRunning: isLongRunning(requestInfo) };
    assert.deepEqual(ours, complete(answer, target), `${method} ${target}`);
  }
});

test('what kube-apiserver cannot determine fails with its message', () => {
  const failed = vectors.filter(([, , answer]) => answer.error !== undefined);
  assert.ok(failed.length > 50);
  for (const [method, target, { error: message }] of failed) {
    assert.throws(
      () => parseRequestInfo(method, target),
      (error) =>
        error instanceof RequestInfoError &&
        error.code === 'UnableToDetermineResource' &&
        error.message === message,
      `${method} ${target}`,
    );
  }
});
