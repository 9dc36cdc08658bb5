import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ClaimMappings, mapClaims } from './claim-mappings.ts';
import type { Claims } from './claims.ts';
import type { TokenErrorCode } from './token-error.ts';

const subject: ClaimMappings = {
  username: { path: ['sub'], prefix: '', required: true },
  groups: undefined,
  uid: undefined,
  extra: [],
};

function assertRefused(claims: Claims, mappings: ClaimMappings, code: TokenErrorCode): void {
  assert.throws(() => mapClaims(claims, mappings), { name: 'TokenError', code });
}

describe('the mapped user name', () => {
  it('is the claim behind its prefix', () => {
    const prefixed = {
      ...subject,
      username: { path: ['sub'], prefix: 'https://a.example#', required: true },
    };
    assert.equal(mapClaims({ sub: 'jane' }, prefixed).name, 'https://a.example#jane');
  });

  it('is never empty, and never anything but text', () => {
    for (const sub of ['', undefined, null, 7, true, ['jane'], { name: 'jane' }]) {
      assertRefused({ sub }, subject, 'InvalidClaim');
    }
    assertRefused(
      { sub: '' },
      { ...subject, username: { path: ['sub'], prefix: 'oidc:', required: true } },
      'InvalidClaim',
    );
  });

  it('is never what every object inherits', () => {
    for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      assertRefused(
        { sub: 'jane' },
        { ...subject, username: { path: [name], prefix: '', required: true } },
        'InvalidClaim',
      );
    }
    const nested = {
      ...subject,
      username: { path: ['sub', 'constructor', 'name'], prefix: '', required: true },
    };
    assertRefused({ sub: {} }, nested, 'InvalidClaim');
  });

  it('may stand in a claim that is called like what every object inherits', () => {
    const claims = JSON.parse('{"__proto__":"jane"}') as Claims;
    const mappings = { ...subject, username: { path: ['__proto__'], prefix: '', required: true } };
    assert.equal(mapClaims(claims, mappings).name, 'jane');
  });

  it('is no e-mail address that is not verified', () => {
    const email = { ...subject, username: { path: ['email'], prefix: '', required: true } };
    assert.equal(mapClaims({ email: 'j@a.example', email_verified: true }, email).name, 'j@a.example');
    assert.equal(mapClaims({ email: 'j@a.example' }, email).name, 'j@a.example');
    for (const verified of [false, 'true', 1, null]) {
      assertRefused({ email: 'j@a.example', email_verified: verified }, email, 'EmailNotVerified');
    }
    assert.equal(mapClaims({ sub: 'jane', email_verified: false }, subject).name, 'jane');
  });

  it('does not begin with "system:", however that comes about', () => {
    assertRefused({ sub: 'system:kube-controller-manager' }, subject, 'ReservedName');
    assertRefused(
      { sub: 'admin' },
      { ...subject, username: { path: ['sub'], prefix: 'system:', required: true } },
      'ReservedName',
    );
    assertRefused(
      { sub: 'tem:admin' },
      { ...subject, username: { path: ['sub'], prefix: 'sys', required: true } },
      'ReservedName',
    );
    assert.equal(mapClaims({ sub: 'System:admin' }, subject).name, 'System:admin');
  });
});

describe('mapped groups', () => {
  const mappings: ClaimMappings = {
    ...subject,
    groups: { path: ['groups'], prefix: 'oidc:', required: false },
  };
  const groupsOf = (groups: unknown): readonly string[] =>
    mapClaims({ sub: 'jane', groups }, mappings).groups;

  it('are a text or a list of texts, each behind the prefix', () => {
    assert.deepEqual(groupsOf('one'), ['oidc:one']);
    assert.deepEqual(groupsOf(['one', 'two,three']), ['oidc:one', 'oidc:two,three']);
  });

  it('are none where the claim is missing, null or empty', () => {
    for (const groups of [undefined, null, '', [], ['']]) assert.deepEqual(groupsOf(groups), []);
  });

  it('are refused when they are of another kind', () => {
    for (const groups of [7, true, {}, [7], ['one', null], [['one']]]) {
      assertRefused({ sub: 'jane', groups }, mappings, 'InvalidClaim');
    }
  });

  it('are left to the API server when they stand at another endpoint', () => {
    const distributed = {
      sub: 'jane',
      _claim_names: { groups: 'src1' },
      _claim_sources: { src1: { endpoint: 'https://attacker.example' } },
    };
    assertRefused(distributed, mappings, 'DistributedClaim');
    assert.deepEqual(mapClaims({ ...distributed, groups: ['one'] }, mappings).groups, ['oidc:one']);
    assert.deepEqual(mapClaims({ ...distributed, _claim_names: { other: 'src1' } }, mappings).groups, []);
  });
});

describe('mapped uid and extra', () => {
  it('take nested claims, as an expression names them', () => {
    const mappings: ClaimMappings = {
      ...subject,
      uid: { path: ['realm', 'id'], required: true },
      extra: [
        { key: 'example.org/tenant', value: { path: ['tenant'], required: true } },
        { key: 'example.org/roles', value: { path: ['roles'], required: true } },
        { key: 'example.org/nothing', value: { path: ['nothing'], required: true } },
      ],
    };
    const user = mapClaims(
      { sub: 'jane', realm: { id: 'u-1' }, tenant: 'one', roles: ['a', '', 'b'], nothing: [] },
      mappings,
    );
    assert.equal(user.uid, 'u-1');
    assert.deepEqual(
      [...user.extra],
      [
        ['example.org/tenant', ['one']],
        ['example.org/roles', ['a', 'b']],
      ],
    );
  });

  it('are refused when they are missing', () => {
    assertRefused({ sub: 'jane' }, { ...subject, uid: { path: ['id'], required: true } }, 'InvalidClaim');
    const extra = [{ key: 'example.org/tenant', value: { path: ['tenant'], required: true } }];
    assertRefused({ sub: 'jane' }, { ...subject, extra }, 'InvalidClaim');
  });
});
