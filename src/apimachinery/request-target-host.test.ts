import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isUriHost } from './request-target.ts';

test('names, addresses and ports are hosts, and so is nothing', () => {
  const hosts = [
    '',
    'localhost',
    'API.example.com:6443',
    '127.0.0.1:',
    '[fd00::1]:6443',
    '[::ffff:10.0.0.1]',
  ];
  for (const host of hosts) assert.ok(isUriHost(host), host);
});

test('what a URL parser would take for more than a host is none', () => {
  const others = [
    'a/evil',
    'a?b',
    'a#b',
    'a\\b',
    'user@a',
    'a b',
    'a%2Fb',
    'a:b',
    '[::1',
    '[a/b]',
    'a:1/x',
    'ä',
  ];
  for (const host of others) assert.ok(!isUriHost(host), host);
});

test('no host changes the target that stands behind it, whatever it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 12 }), (host) => {
      const url = isUriHost(host) ? URL.parse(`https://${host}/api/v1?watch=1`) : null;
      if (url !== null) {
        assert.deepEqual([url.username, url.pathname, url.search], ['', '/api/v1', '?watch=1']);
      }
    }),
    { numRuns: 2_000 },
  );
});
