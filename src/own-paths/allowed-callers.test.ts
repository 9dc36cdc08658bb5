import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Caller } from '../request/user-info.ts';
import { authorizeOwnPaths } from './allowed-callers.ts';

const allowed = { users: ['sync'], groups: ['ops', 'system:authenticated', 'system:unauthenticated'] };
const caller = (name: string, groups: readonly string[]): Caller => ({
  kind: 'authenticated',
  user: { name, uid: '', groups, extra: new Map() },
  authenticator: 'request-header',
  viaVerifiedPeer: true,
});

it('a user, or any one of the groups, is enough', () => {
  assert.equal(authorizeOwnPaths(caller('sync', []), allowed), 'allowed');
  assert.equal(authorizeOwnPaths(caller('jane', ['dev', 'ops']), allowed), 'allowed');
  assert.equal(authorizeOwnPaths(caller('jane', ['dev']), allowed), 'forbidden');
});

it('names are compared exactly, users never with groups', () => {
  for (const [name, groups] of [
    ['Sync', []],
    ['sync ', []],
    ['ops', []],
    ['jane', ['sync']],
    ['jane', ['OPS']],
  ] as const) {
    assert.equal(authorizeOwnPaths(caller(name, groups), allowed), 'forbidden', `${name} ${groups}`);
  }
});

it('a caller whom the router did not authenticate is nobody, whatever is allowed', () => {
  assert.equal(authorizeOwnPaths({ kind: 'passthrough' }, allowed), 'unauthenticated');
});

it('an anonymous caller that a front proxy vouches for is nobody, whatever groups come with it', () => {
  const groups = ['ops', 'system:authenticated'];
  assert.equal(authorizeOwnPaths(caller('system:anonymous', groups), allowed), 'unauthenticated');
  const unauthenticated = caller('jane', [...groups, 'system:unauthenticated']);
  assert.equal(authorizeOwnPaths(unauthenticated, allowed), 'unauthenticated');
  const named = { users: ['system:anonymous'], groups: [] };
  assert.equal(authorizeOwnPaths(caller('system:anonymous', []), named), 'unauthenticated');
});
