import assert from 'node:assert/strict';
import { test } from 'node:test';
import { speaker } from '../../../test/support/assertions.ts';
import { checkIssuerUrl, createOidcIssuer } from './oidc-issuer.ts';

const { publicJwk } = await speaker('router', 'ES256');

test('both documents stand below the issuer, as clients look for them', () => {
  const issuer = createOidcIssuer({ url: 'https://router.example:6443/oidc', publicKeys: [publicJwk] });
  assert.equal(issuer.configurationPath, '/oidc/.well-known/openid-configuration');
  assert.equal(issuer.keysPath, '/oidc/.mixed-version-proxy/v1/jwks');
  assert.deepEqual(issuer.configuration, {
    issuer: 'https://router.example:6443/oidc',
    jwks_uri: 'https://router.example:6443/oidc/.mixed-version-proxy/v1/jwks',
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  });
  assert.deepEqual(issuer.keys, { keys: [publicJwk] });
});

test('an issuer without a path has them at the top', () => {
  const issuer = createOidcIssuer({ url: 'https://router.example', publicKeys: [publicJwk] });
  assert.equal(issuer.configurationPath, '/.well-known/openid-configuration');
  assert.equal(issuer.configuration['jwks_uri'], 'https://router.example/.mixed-version-proxy/v1/jwks');
});

test('an issuer URL that API servers would refuse, or that could be written in two ways, is an error', () => {
  for (const url of ['https://router.example', 'https://10.0.0.1:6443/a/b-c_d.e~f', 'https://[::1]:6443/x']) {
    assert.equal(checkIssuerUrl(url), undefined, url);
  }
  for (const [url, issue] of [
    ['http://router.example', /https/],
    ['router.example', /https/],
    ['https://user:pass@router.example', /user name or password/],
    ['https://router.example?x=1', /query/],
    ['https://router.example/#', /fragment/],
    ['https://router.example/', /end with a slash/],
    ['https://router.example/a/', /end with a slash/],
    ['https://Router.example', /normal form, https:\/\/router\.example$/],
    ['https://router.example:443', /normal form/],
    ['https://router.example/a/../b', /normal form/],
    ['https://router.example/a//b', /path of letters/],
    ['https://router.example/:id', /path of letters/],
    ['https://router.example/*', /path of letters/],
    ['https://router.example/%61', /path of letters/],
  ] as const) {
    assert.match(checkIssuerUrl(url) ?? '', issue, url);
  }
});
