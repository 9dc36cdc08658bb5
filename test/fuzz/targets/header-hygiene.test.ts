import assert from 'node:assert/strict';
import fc from 'fast-check';
import { mutated } from '../../../packages/http2/test/fuzz/mutation.ts';
import { allHeaders, headerLines } from '../../../src/apimachinery/raw-headers.ts';
import { stampIdentity } from '../../../src/identity/stamp-identity.ts';
import {
  cleanRequestHeaders,
  cleanResponseHeaders,
  defaultIdentityHeaderNames,
} from '../../../src/request/headers.ts';
import type { Caller } from '../../../src/request/user-info.ts';
import { fuzz } from '../fuzz-target.ts';

const names = [
  ...['X-Remote-User', 'X-Remote-Uid', 'X-Remote-Group', 'X-Remote-Extra-Scopes', 'X-Proxy-User'],
  ...['Connection', 'Authorization', 'Impersonate-User', 'Cookie', 'Host', 'TE', 'Upgrade', 'Via', 'Accept'],
  ...['x-kubernetes-peer-proxied', 'mixed-version-proxy-identity', 'Content-Length', 'Transfer-Encoding'],
  ...['X-Forwarded-For', 'Sec-WebSocket-Protocol', ':path', 'Audit-ID'],
  ...['Keep-Alive', 'Proxy-Authenticate', 'Proxy-Authorization', 'Proxy-Connection', 'Trailer', 'Expect'],
  'HTTP2-Settings',
];
/** Headers of one connection alone (RFC 9110 section 7.6.1, RFC 9113 section 8.2.2). */
const ofOneConnection =
  /^(?:connection|keep-alive|proxy-(?:connection|authenticate|authorization)|te|trailer|transfer-encoding|upgrade|expect|http2-settings|:.*)$/i;
const configured = { ...defaultIdentityHeaderNames, username: ['X-Proxy-User'] };
const jane: Caller = {
  kind: 'authenticated',
  user: { name: 'jane', uid: '', groups: ['dev', 'a, b'], extra: new Map() },
  authenticator: 'x509',
  viaVerifiedPeer: false,
};
const stranger: Caller = { kind: 'passthrough' };

/** As a server reads it that turns names into variables (CVE-2025-64484). */
const asVariable = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '_');
const identityVariable =
  /^(?:x_remote_(?:user|uid|group|extra_.*)|x_proxy_user|mixed_version_proxy_identity|x_kubernetes_peer_proxied)$/;

const name = fc.oneof(
  fc.constantFrom(...names),
  fc.constantFrom(...names).map((each) => each.replaceAll('-', '_')),
  mutated(fc.constantFrom(...names), ['_', '-', '.', 'x', 'X', ' ']),
);
const value = fc.oneof(
  fc.array(name, { maxLength: 4 }).map((each) => each.join(', ')),
  fc.constantFrom('root', 'true', ''),
);

/** RFC 9110 section 7.6.1 forbids to name them; whoever does strips nothing (`src/request/headers.ts`). */
const intendedForAll =
  /^(?:authorization|cookie|forwarded|host|via)$|^(?:content|impersonate|sec-websocket|x-forwarded)-/;

/** Nothing of one connection comes out, what a `Connection` line nominates included. */
function assertNothingOfConnection(
  cleaned: readonly string[],
  pairs: readonly (readonly [string, string])[],
): void {
  const nominated = pairs
    .filter(([each]) => each.toLowerCase() === 'connection')
    .flatMap(([, options]) => options.split(',').map((option) => option.trim().toLowerCase()))
    .filter((option) => option !== '');
  for (const [each] of headerLines(cleaned)) {
    const key = each.toLowerCase();
    assert.doesNotMatch(key, ofOneConnection);
    assert.ok(!nominated.includes(key) || intendedForAll.test(key), `${each} is nominated and comes out`);
  }
}

/** RFC 9112 section 6.1: whoever decodes `Transfer-Encoding` does not pass a Content-Length on beside it. */
function assertOneFraming(cleaned: readonly string[], headers: readonly string[]): void {
  assert.deepEqual(allHeaders(cleaned, 'transfer-encoding'), []);
  if (allHeaders(headers, 'transfer-encoding').length > 0)
    assert.deepEqual(allHeaders(cleaned, 'content-length'), []);
}

fuzz<readonly (readonly [string, string])[]>({
  name: 'header-hygiene',
  runs: 3_000,
  arbitrary: fc.array(
    fc.oneof({ weight: 3, arbitrary: fc.tuple(name, value) }, fc.tuple(fc.constant('Connection'), value)),
    { maxLength: 12 },
  ),
  holds(pairs) {
    const headers = pairs.flat();
    const cleaned = cleanRequestHeaders(headers, configured);
    assert.deepEqual(cleanRequestHeaders(cleaned, configured), cleaned, 'what is clean stays as it is');
    assertNothingOfConnection(cleaned, pairs);
    assertOneFraming(cleaned, headers);
    assertOneFraming(cleanResponseHeaders(headers), headers);
    assertNothingOfConnection(cleanResponseHeaders(headers), pairs);
    const left = [...pairs];
    for (const [lineName, lineValue] of headerLines(cleaned)) {
      const at = left.findIndex(([each, other]) => each === lineName && other === lineValue);
      assert.notEqual(at, -1, 'nothing is made up, and order is kept');
      left.splice(0, at + 1);
      assert.doesNotMatch(asVariable(lineName), identityVariable);
    }
    const identityIn = (lines: readonly string[]): string[][] =>
      [...headerLines(lines)]
        .filter(([each]) => identityVariable.test(asVariable(each)))
        .map((line) => [...line]);
    const stamped = stampIdentity(cleaned, jane, configured);
    assert.deepEqual(identityIn(stamped), [
      ['X-Remote-User', 'jane'],
      ['X-Remote-Group', 'dev'],
      ['X-Remote-Group', 'a, b'],
    ]);
    assert.deepEqual(allHeaders(stamped, 'authorization'), []);
    assert.deepEqual(identityIn(stampIdentity(cleaned, stranger, configured)), []);
    // Nobody can strip a caller's credentials by nominating them.
    assert.deepEqual(allHeaders(cleaned, 'authorization'), allHeaders(headers, 'authorization'));
    assert.deepEqual(allHeaders(cleaned, 'impersonate-user'), allHeaders(headers, 'impersonate-user'));
  },
});
