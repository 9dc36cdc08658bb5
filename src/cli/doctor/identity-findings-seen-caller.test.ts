import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { askWhoCalls, type SeenCaller } from './identity-findings.ts';

/** What is asked, in order, and what is answered to it. */
async function seenBy(
  ...answers: readonly (readonly [status: number, body: unknown])[]
): Promise<{ readonly asked: readonly string[]; readonly seen: SeenCaller }> {
  const asked: string[] = [];
  const seen = await askWhoCalls(async ({ method, target }) => {
    const [status, body] = answers[asked.length] ?? assert.fail(`${target} was not expected`);
    asked.push(`${method} ${target}`);
    return { status, headers: {}, text: typeof body === 'string' ? body : JSON.stringify(body) };
  });
  return { asked, seen };
}

const review = 'POST /apis/authentication.k8s.io/v1/selfsubjectreviews';
const nowhere = 'GET /mixed-version-proxy-doctor';
const named = (name: string): SeenCaller => ({ kind: 'user', name, groups: undefined, extra: undefined });
const forbidden = (message: string) => [403, { kind: 'Status', reason: 'Forbidden', message }] as const;

describe('whom a server takes the caller for', () => {
  it('is what a SelfSubjectReview says, as 1.28 and later answer it', async () => {
    const userInfo = { username: 'alice', groups: ['dev'], extra: { 'example.com/key': ['one'] } };
    const { asked, seen } = await seenBy([201, { kind: 'SelfSubjectReview', status: { userInfo } }]);
    assert.deepEqual(asked, [review]);
    assert.deepEqual(seen, { kind: 'user', name: 'alice', groups: ['dev'], extra: userInfo.extra });
  });

  it('is whom a refusal names', async () => {
    const message =
      'selfsubjectreviews.authentication.k8s.io is forbidden: User "system:anonymous" cannot create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope';
    assert.deepEqual((await seenBy(forbidden(message))).seen, named('system:anonymous'));
  });

  it('is whom the refusal of another path names, where no reviews are served (1.25 to 1.27)', async () => {
    const notFound = [404, { kind: 'Status', reason: 'NotFound' }] as const;
    const { asked, seen } = await seenBy(
      notFound,
      forbidden('forbidden: User "mixed-version-proxy:doctor" cannot get path "/mixed-version-proxy-doctor"'),
    );
    assert.deepEqual(asked, [review, nowhere]);
    assert.deepEqual(seen, named('mixed-version-proxy:doctor'));
  });

  it('is read as Go quotes it', async () => {
    const message = String.raw`forbidden: User "CN=\"a\\b\" cannot get" cannot get path "/x"`;
    assert.deepEqual((await seenBy(forbidden(message))).seen, named(String.raw`CN="a\b" cannot get`));
  });

  it('is nobody where credentials are refused', async () => {
    assert.deepEqual((await seenBy([401, { reason: 'Unauthorized' }])).seen, { kind: 'refused' });
  });

  it('stays unknown where an answer names nobody, whatever it is made of', async () => {
    for (const [status, body] of [
      [200, { answered: review }],
      [201, { status: { userInfo: { username: 7 } } }],
      [403, 'User "alice" cannot be read: this is no JSON'],
      [403, { reason: 'Forbidden', message: 'nobody is named' }],
      [502, '<html>'],
    ] as const) {
      const { asked, seen } = await seenBy([status, body], [status, body]);
      assert.deepEqual(asked, [review, nowhere]);
      assert.deepEqual(seen, { kind: 'unknown', status });
    }
  });
});
