import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  authenticator,
  configuration,
  issuesOf,
  type Part,
  withMappings,
} from '../../../test/support/authentication-configuration.ts';

describe('claim mappings', () => {
  it('need a user name, and a prefix beside every claim, which may be empty', () => {
    assert.match(
      issuesOf(withMappings({ username: {} })).join(),
      /username must have a claim or an expression/,
    );
    assert.match(
      issuesOf(withMappings({ username: { claim: 'sub' } })).join(),
      /username\.prefix is required/,
    );
    assert.match(
      issuesOf(withMappings({ groups: { claim: 'groups' } })).join(),
      /groups\.prefix is required/,
    );
    assert.match(
      issuesOf(withMappings({ username: { expression: 'claims.sub', prefix: '' } })).join(),
      /username\.prefix must not be there/,
    );
    assert.match(
      issuesOf(withMappings({ uid: { claim: 'a', expression: 'claims.a' } })).join(),
      /uid must have a claim or an expression, not both/,
    );
  });

  it('take no address for a name without asking whether it is verified', () => {
    assert.match(issuesOf(withMappings({ username: { expression: 'claims.email' } })).join(), /claim: email/);
    assert.deepEqual(issuesOf(withMappings({ username: { claim: 'email', prefix: '' } })), []);
  });

  it('take no CEL but the naming of a claim', () => {
    for (const expression of [
      "claims.sub + '@example.org'",
      "'root'",
      'claims',
      'claims["sub"]',
      'claims.?sub',
      'user.sub',
      'claims.a-b',
    ]) {
      assert.match(
        issuesOf(withMappings({ username: { expression } })).join('\n'),
        /^jwt\[0\]\.claimMappings\.username\.expression must be of the form claims\.<name>/,
      );
      const extra = [{ key: 'example.org/a', valueExpression: expression }];
      assert.match(
        issuesOf(withMappings({ extra })).join('\n'),
        /extra\[0\]\.valueExpression must be of the form/,
      );
    }
  });

  it('keep extra keys in the domain of somebody, who is not Kubernetes', () => {
    const bad = {
      tenant: /domain-prefixed/,
      '/tenant': /domain-prefixed/,
      'example.org/': /domain-prefixed/,
      'example.org/a b': /domain-prefixed/,
      'Example.org/a': /domain-prefixed/,
      'example.org/A': /lower case/,
      'kubernetes.io/a': /reserved/,
      'authentication.kubernetes.io/pod-name': /reserved/,
      'k8s.io/a': /reserved/,
      'a.k8s.io/a': /reserved/,
    };
    for (const [key, message] of Object.entries(bad)) {
      const issues = issuesOf(withMappings({ extra: [{ key, valueExpression: 'claims.a' }] }));
      assert.match(issues.join('\n'), message, key);
    }
    const item = { key: 'example.org/a', valueExpression: 'claims.a' };
    assert.match(issuesOf(withMappings({ extra: [item, item] })).join(), /extra\[1\]\.key must be unique/);
    const near = { key: 'notkubernetes.io/a', valueExpression: 'claims.a' };
    assert.deepEqual(issuesOf(withMappings({ extra: [near] })), []);
  });
});

describe('validation rules', () => {
  const withRules = (...claimValidationRules: readonly Part[]): Part =>
    configuration(authenticator({ claimValidationRules }));

  it('that need CEL are errors, never left out', () => {
    assert.match(
      issuesOf(withRules({ expression: 'claims.hd == "example.org"', message: 'no' })).join(),
      /^jwt\[0\]\.claimValidationRules\[0\]\.expression is not supported/,
    );
    const userValidationRules = [{ expression: "!user.username.startsWith('system:')" }];
    assert.match(
      issuesOf(configuration(authenticator({ userValidationRules }))).join(),
      /^jwt\[0\]\.userValidationRules\[0\] is not supported/,
    );
  });

  it('name a claim, each once', () => {
    assert.match(issuesOf(withRules({ requiredValue: 'a' })).join(), /\[0\]\.claim is required/);
    assert.match(issuesOf(withRules({ claim: 'a' }, { claim: 'a' })).join(), /\[1\]\.claim must be unique/);
    assert.match(
      issuesOf(withRules({ claim: 'a', message: 'no' })).join(),
      /\[0\]\.message must not be there/,
    );
  });
});
