import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { inboundRequest, withCertificate } from '../../test/support/routers/inbound-request.ts';
import { headerLines } from '../apimachinery/raw-headers.ts';
import { cleanRequestHeaders, type IdentityHeaderNames } from '../request/headers.ts';
import type { Caller, UserInfo } from '../request/user-info.ts';
import { RequestHeaderAuthenticator } from './request-header.ts';
import { stampIdentity } from './stamp-identity.ts';

function callerOf(user: Partial<UserInfo>): Caller {
  return {
    kind: 'authenticated',
    user: { name: 'jane', uid: '', groups: [], extra: new Map(), ...user },
    authenticator: 'x509',
    viaVerifiedPeer: false,
  };
}

const passthrough: Caller = { kind: 'passthrough' };

describe('stamping', () => {
  it('writes one line per group and extra value, as client-go does', () => {
    const caller = callerOf({
      uid: '42',
      groups: ['dev', '', 'dev', 'cn=a,ou=b'],
      extra: new Map([['scopes', ['view', '', 'a, b']]]),
    });
    assert.deepEqual(stampIdentity(['Accept', 'a'], caller), [
      ...['Accept', 'a', 'X-Remote-User', 'jane', 'X-Remote-Uid', '42'],
      ...[
        'X-Remote-Group',
        'dev',
        'X-Remote-Group',
        '',
        'X-Remote-Group',
        'dev',
        'X-Remote-Group',
        'cn=a,ou=b',
      ],
      ...['X-Remote-Extra-scopes', 'view', 'X-Remote-Extra-scopes', '', 'X-Remote-Extra-scopes', 'a, b'],
    ]);
  });

  it('writes an empty user name and leaves an empty uid out', () => {
    assert.deepEqual(stampIdentity([], callerOf({ name: '' })), ['X-Remote-User', '']);
  });

  it('escapes extra keys byte by byte, with upper-case hex, and writes letters in lower case', () => {
    const keys = ['Example.com/Foo', 'a%b', 'with space', 'ü', "!#$&'*+-.^_`|~09az", 'É', 'a\nb'];
    const lines = [
      ...headerLines(stampIdentity([], callerOf({ extra: new Map(keys.map((key) => [key, ['v']])) }))),
    ];
    assert.deepEqual(
      lines.slice(1).map(([name]) => name),
      [
        'X-Remote-Extra-example.com%2Ffoo',
        'X-Remote-Extra-a%25b',
        'X-Remote-Extra-with%20space',
        'X-Remote-Extra-%C3%BC',
        "X-Remote-Extra-!#$&'*+-.^_`|~09az",
        'X-Remote-Extra-%C3%89',
        'X-Remote-Extra-a%0Ab',
      ],
    );
  });

  it('writes non-ASCII text as its UTF-8 bytes', () => {
    const stamped = stampIdentity([], callerOf({ name: 'jürgen', groups: ['開発, 東京'] }));
    assert.equal(stamped[1], 'j\u00c3\u00bcrgen');
    assert.equal(Buffer.from(stamped[3] ?? '', 'latin1').toString('utf8'), '開発, 東京');
  });

  it('S18: removes the bearer token, which must not travel once the identity is stamped', () => {
    const headers = ['authorization', 'Bearer secret', 'AUTHORIZATION', 'Basic secret', 'Accept', 'a'];
    assert.deepEqual(stampIdentity(headers, callerOf({})), ['Accept', 'a', 'X-Remote-User', 'jane']);
  });

  it('S18: removes a bearer token among WebSocket subprotocols and keeps the others', () => {
    const token = 'base64url.bearer.authorization.k8s.io.c2VjcmV0';
    const protocolsAfter = (...values: string[]): string[] =>
      [
        ...headerLines(
          stampIdentity(
            values.flatMap((value) => ['Sec-WebSocket-Protocol', value]),
            callerOf({}),
          ),
        ),
      ]
        .filter(([name]) => name === 'Sec-WebSocket-Protocol')
        .map(([, value]) => value);
    assert.deepEqual(protocolsAfter(`v5.channel.k8s.io, ${token},v4.channel.k8s.io`), [
      'v5.channel.k8s.io, v4.channel.k8s.io',
    ]);
    assert.deepEqual(protocolsAfter(token.toUpperCase(), 'v5.channel.k8s.io,x'), ['v5.channel.k8s.io,x']);
    assert.deepEqual(protocolsAfter(`${token}, `), []);
  });

  it('S7: leaves the credentials of a caller who passes through, and stamps nothing', () => {
    const headers = [
      'Authorization',
      'Bearer t',
      'Sec-WebSocket-Protocol',
      'base64url.bearer.authorization.k8s.io.t',
    ];
    assert.deepEqual(stampIdentity(headers, passthrough), headers);
  });

  it('S7: lets no identity header out for a caller who passes through, the UID header included', () => {
    const headers = [
      'X-Remote-User',
      'admin',
      'x_remote_uid',
      '0',
      'X-Remote-Group',
      'system:masters',
      'A',
      'b',
    ];
    assert.deepEqual(stampIdentity(headers, passthrough), ['A', 'b']);
  });

  it('refuses control characters instead of cutting them out (header injection)', () => {
    const injections = ['\r\nX-Remote-Group: system:masters', 'a\nb', 'a\0', '\u007f', 'a\u001b[0m'];
    for (const text of injections) {
      for (const user of [
        { name: text },
        { uid: text },
        { groups: [text] },
        { extra: new Map([['a', [text]]]) },
      ]) {
        assert.throws(() => stampIdentity([], callerOf(user)), {
          name: 'IdentityTextError',
          message: /holds a control character/,
        });
      }
    }
  });

  it('refuses text that would arrive as another name', () => {
    for (const text of [' admin', 'admin ', '\tadmin']) {
      assert.throws(
        () => stampIdentity([], callerOf({ name: text })),
        /IdentityTextError: .* begins or ends with whitespace/,
      );
    }
    assert.throws(
      () => stampIdentity([], callerOf({ groups: ['\ud800'] })),
      /IdentityTextError: .* not well-formed/,
    );
    assert.throws(
      () => stampIdentity([], callerOf({ extra: new Map([['\udfff', ['a']]]) })),
      /IdentityTextError: .* not well-formed/,
    );
  });
});

const configured: IdentityHeaderNames = {
  username: ['X-Proxy-User'],
  uid: [],
  group: ['X-Proxy-Group'],
  extraPrefix: ['X-Proxy-Extra-'],
};

/** Text that a header line can carry: anything but control characters, no whitespace at the ends. */
const text = fc.string({ unit: 'binary', maxLength: 12 }).map((each) =>
  each
    .replace(/[^\t\x20-\x7e\u0080-\u{10ffff}]/gu, ',')
    .trim()
    .replace(/^[\t ]+|[\t ]+$/g, ''),
);
const key = fc.string({ unit: 'binary', maxLength: 8 }).map((each) => each.replace(/[A-Z]/g, 'a'));
const user: fc.Arbitrary<UserInfo> = fc.record({
  name: text.filter((each) => each !== ''),
  uid: text,
  groups: fc.array(fc.oneof(text, fc.constantFrom('a,b', 'g, h', 'système:équipe'))),
  extra: fc.array(fc.tuple(key, fc.array(text, { minLength: 1 }))).map((entries) => new Map(entries)),
});

const hostileName = fc
  .tuple(
    fc.constantFrom(
      'X-Remote-User',
      'X-Remote-Uid',
      'X-Remote-Group',
      'X-Remote-Extra-a',
      'X-Proxy-User',
      'X-Proxy-Extra-b',
    ),
    fc.constantFrom('-', '_', '.', '~'),
    fc.boolean(),
  )
  .map(([name, separator, upper]) => {
    const respelled = name.replaceAll('-', separator);
    return upper ? respelled.toUpperCase() : respelled.toLowerCase();
  });
const hostileHeaders = fc
  .array(
    fc.tuple(
      fc.oneof(hostileName, fc.constantFrom('Connection', 'Accept', 'Authorization')),
      fc.oneof(
        fc.constantFrom('X-Remote-User, X-Remote-Group, Authorization', 'system:masters'),
        fc.string(),
      ),
    ),
  )
  .map((lines) => lines.flat());

/** Anything that some server could take for an identity header. */
const looksLikeIdentity = /^x[^a-z0-9](remote|proxy)[^a-z0-9](user|uid|group|extra)/i;

describe('clean, then stamp', () => {
  it('S6 S7 S8 S9: the only identity headers are exactly the caller’s, whatever the client sent', () => {
    fc.assert(
      fc.property(hostileHeaders, user, (headers, asserted) => {
        const caller = callerOf(asserted);
        const stamped = stampIdentity(cleanRequestHeaders(headers, configured), caller, configured);
        const identity = [...headerLines(stamped)].filter(([name]) => looksLikeIdentity.test(name)).flat();
        assert.deepEqual(identity, stampIdentity([], caller));
      }),
    );
  });

  it('S7: a caller who passes through leaves without any identity header', () => {
    fc.assert(
      fc.property(hostileHeaders, (headers) => {
        const stamped = stampIdentity(cleanRequestHeaders(headers, configured), passthrough, configured);
        assert.ok([...headerLines(stamped)].every(([name]) => !looksLikeIdentity.test(name)));
      }),
    );
  });

  it('the receiver reads the very user that was stamped: commas, non-ASCII text and all', () => {
    const receiver = new RequestHeaderAuthenticator({ allowedNames: ['front-proxy'] });
    fc.assert(
      fc.property(user, (asserted) => {
        const stamped = stampIdentity([], callerOf(asserted));
        const inbound = inboundRequest(stamped, withCertificate('requestheader-client-ca', 'front-proxy'));
        const received = receiver.authenticate(inbound);
        assert.ok(received?.kind === 'authenticated');
        // Receivers leave empty groups out (headerrequest.go, allHeaderValues).
        assert.deepEqual(received.user, {
          ...asserted,
          groups: asserted.groups.filter((each) => each !== ''),
        });
      }),
    );
  });
});
