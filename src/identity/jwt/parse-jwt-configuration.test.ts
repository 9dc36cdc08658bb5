import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  authenticator,
  configuration,
  goodIssuer,
  issuesOf,
  type Part,
  withIssuer,
} from '../../../test/support/authentication-configuration.ts';
import { parseAuthenticationConfiguration } from './parse-jwt-configuration.ts';

describe('an AuthenticationConfiguration', () => {
  it('is read as Kubernetes reads it', () => {
    const result = parseAuthenticationConfiguration(
      configuration({
        issuer: {
          url: 'https://issuer.example/tenant',
          discoveryURL: 'https://inside.example/discovery',
          certificateAuthority: '-----BEGIN CERTIFICATE-----\n…',
          audiences: ['one', 'two'],
          audienceMatchPolicy: 'MatchAny',
        },
        claimValidationRules: [{ claim: 'hd', requiredValue: 'example.org' }, { claim: 'empty' }],
        claimMappings: {
          username: { claim: 'sub', prefix: 'oidc:' },
          groups: { expression: 'claims.roles' },
          uid: { expression: 'claims.realm.id' },
          extra: [{ key: 'example.org/tenant', valueExpression: 'claims.tenant' }],
        },
        userValidationRules: [],
      }),
    );
    assert.deepEqual(result, {
      ok: true,
      issuers: [
        {
          issuer: 'https://issuer.example/tenant',
          keys: {
            kind: 'discovery',
            url: 'https://inside.example/discovery',
            certificateAuthority: '-----BEGIN CERTIFICATE-----\n…',
          },
          policy: {
            audiences: ['one', 'two'],
            requiredClaims: new Map([
              ['hd', 'example.org'],
              ['empty', ''],
            ]),
            mappings: {
              username: { path: ['sub'], prefix: 'oidc:', required: true },
              groups: { path: ['roles'], prefix: '', required: true },
              uid: { path: ['realm', 'id'], required: true },
              extra: [{ key: 'example.org/tenant', value: { path: ['tenant'], required: true } }],
            },
          },
        },
      ],
      warnings: [],
    });
  });

  it('takes every version of Kubernetes, and its own', () => {
    for (const apiVersion of [
      'apiserver.config.k8s.io/v1',
      'apiserver.config.k8s.io/v1beta1',
      'apiserver.config.k8s.io/v1alpha1',
      'mixed-version-proxy/v1alpha1',
    ]) {
      assert.deepEqual(issuesOf({ ...configuration(authenticator()), apiVersion }), []);
    }
    assert.match(issuesOf({ ...configuration(), apiVersion: 'v1' }).join(), /^apiVersion must be one of/);
    assert.match(issuesOf({ ...configuration(), kind: 'Config' }).join(), /^kind must be/);
  });

  it('may name no issuer, and says that anonymous callers are not its business', () => {
    const result = parseAuthenticationConfiguration({ ...configuration(), anonymous: { enabled: false } });
    assert.ok(result.ok);
    assert.deepEqual(result.issuers, []);
    assert.deepEqual(
      result.warnings.map(({ path }) => path),
      ['anonymous'],
    );
  });

  it('has every error told, each with its path', () => {
    const document = configuration(
      { issuer: { url: 'http://one.example', audiences: [] }, claimMappings: { username: {} } },
      authenticator({ userValidationRules: [{ expression: 'true' }] }),
    );
    assert.deepEqual(
      issuesOf(document).map((issue) => issue.split(' ')[0]),
      [
        'jwt[0].issuer.url',
        'jwt[0].issuer.audiences',
        'jwt[0].claimMappings.username',
        'jwt[1].userValidationRules[0]',
      ],
    );
  });

  it('refuses fields that it does not have, and values of another kind', () => {
    assert.match(
      issuesOf(withIssuer({ audience: 'kubernetes' })).join(),
      /^jwt\[0\]\.issuer\.audience is not a field/,
    );
    assert.match(
      issuesOf(withIssuer({ audiences: 'kubernetes' })).join(),
      /^jwt\[0\]\.issuer\.audiences must be an array/,
    );
    assert.match(issuesOf(configuration({})).join('\n'), /^jwt\[0\]\.issuer is required/m);
    for (const document of [undefined, null, [], 'text', 7]) assert.equal(issuesOf(document).length, 1);
    assert.match(issuesOf(configuration(...new Array(65).fill(authenticator()))).join(), /at most 64/);
  });
});

describe('issuers', () => {
  it('are https URLs without credentials, query or fragment', () => {
    const bad = {
      '': /is required/,
      'issuer.example': /must be a URL/,
      'http://issuer.example': /must be an https URL/,
      'https://jane:hunter2@issuer.example': /username or password/,
      'https://issuer.example/?tenant=one': /query/,
      'https://issuer.example/#one': /fragment/,
    };
    for (const [url, message] of Object.entries(bad)) {
      const issues = issuesOf(withIssuer({ url })).join('\n');
      assert.match(issues, message);
      assert.doesNotMatch(issues, /hunter2/);
    }
  });

  it('are unique, and none of those of service accounts', () => {
    assert.match(
      issuesOf(configuration(authenticator(), authenticator())).join(),
      /jwt\[1\]\.issuer\.url must be unique/,
    );
    assert.match(
      issuesOf(configuration(authenticator()), ['https://issuer.example']).join(),
      /^jwt\[0\]\.issuer\.url must not be an issuer of service accounts/,
    );
    const discovered = (url: string): Part =>
      authenticator({ issuer: { ...goodIssuer, url, discoveryURL: 'https://inside.example/d' } });
    assert.match(
      issuesOf(configuration(discovered('https://a.example'), discovered('https://b.example'))).join(),
      /^jwt\[1\]\.issuer\.discoveryURL must be unique/,
    );
  });

  it('have a discovery URL that is another one', () => {
    assert.match(
      issuesOf(withIssuer({ discoveryURL: 'https://issuer.example/' })).join(),
      /discoveryURL must be different/,
    );
    assert.match(
      issuesOf(withIssuer({ discoveryURL: 'http://inside.example/' })).join(),
      /discoveryURL must be an https URL/,
    );
  });

  it('have audiences, each once; several need MatchAny', () => {
    assert.match(issuesOf(withIssuer({ audiences: [] })).join(), /audiences must hold at least one/);
    assert.match(issuesOf(withIssuer({ audiences: [''] })).join(), /audiences\[0\] must not be empty/);
    const twice = { audiences: ['a', 'a'], audienceMatchPolicy: 'MatchAny' };
    assert.match(issuesOf(withIssuer(twice)).join(), /audiences\[1\] must be unique/);
    assert.match(
      issuesOf(withIssuer({ audiences: ['a', 'b'] })).join(),
      /audienceMatchPolicy must be MatchAny/,
    );
    assert.match(
      issuesOf(withIssuer({ audienceMatchPolicy: 'MatchAll' })).join(),
      /audienceMatchPolicy must be/,
    );
    assert.deepEqual(issuesOf(withIssuer({ audienceMatchPolicy: '' })), []);
  });

  it('have their authority as PEM, not as a path, and no egress selector', () => {
    assert.match(
      issuesOf(withIssuer({ certificateAuthority: '/etc/ca.crt' })).join(),
      /certificateAuthority must hold PEM/,
    );
    assert.match(
      issuesOf(withIssuer({ egressSelectorType: 'cluster' })).join(),
      /egressSelectorType is not supported/,
    );
  });

  it('may have their keys in a file or at a URL, in a file of our own version only', () => {
    const own = (changes: Part): Part => ({
      ...withIssuer(changes),
      apiVersion: 'mixed-version-proxy/v1alpha1',
    });
    const result = parseAuthenticationConfiguration(own({ jwksFile: '/etc/keys.json' }));
    assert.ok(result.ok);
    assert.deepEqual(result.issuers[0]?.keys, { kind: 'file', path: '/etc/keys.json' });
    assert.deepEqual(issuesOf(own({ jwksURL: 'https://keys.example/jwks' })), []);
    assert.match(
      issuesOf(own({ jwksURL: 'http://keys.example/jwks' })).join(),
      /jwksURL must be an https URL/,
    );
    assert.match(
      issuesOf(own({ jwksURL: 'https://keys.example/', jwksFile: 'keys.json' })).join(),
      /issuer must say in one way where the keys are/,
    );
    assert.match(
      issuesOf(withIssuer({ jwksFile: 'keys.json' })).join(),
      /jwksFile is no field of apiserver\.config\.k8s\.io/,
    );
  });
});
