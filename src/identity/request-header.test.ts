import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inboundRequest, withCertificate } from '../../test/support/routers/inbound-request.ts';
import { toByteString } from '../apimachinery/raw-headers.ts';
import { defaultIdentityHeaderNames, type IdentityHeaderNames } from '../request/headers.ts';
import type { UserInfo } from '../request/user-info.ts';
import { RequestHeaderAuthenticator } from './request-header.ts';

const frontProxy = withCertificate('requestheader-client-ca', 'front-proxy');
const authenticator = new RequestHeaderAuthenticator({ allowedNames: ['front-proxy', 'aggregator'] });

function userOf(headers: readonly string[], headerNames?: IdentityHeaderNames): UserInfo | undefined {
  const configured =
    headerNames === undefined
      ? authenticator
      : new RequestHeaderAuthenticator({ allowedNames: [], headerNames });
  const caller = configured.authenticate(inboundRequest(headers, frontProxy));
  return caller?.kind === 'authenticated' ? caller.user : undefined;
}

describe('whose word counts', () => {
  const headers = ['X-Remote-User', 'admin', 'X-Remote-Group', 'system:masters'];

  it('believes a front proxy with an allowed name, and marks the caller as coming through a verified peer', () => {
    assert.deepEqual(authenticator.authenticate(inboundRequest(headers, frontProxy)), {
      kind: 'authenticated',
      user: { name: 'admin', uid: '', groups: ['system:masters'], extra: new Map() },
      authenticator: 'request-header',
      viaVerifiedPeer: true,
    });
  });

  it('S10: reads no header without a client certificate', () => {
    assert.equal(authenticator.authenticate(inboundRequest(headers)), undefined);
  });

  it('S10: reads no header on the word of an ordinary client certificate, whatever its name', () => {
    const inbound = inboundRequest(headers, withCertificate('client-ca', 'front-proxy'));
    assert.equal(authenticator.authenticate(inbound), undefined);
    assert.equal(authenticator.isVerifiedPeer(inbound), false);
    const open = new RequestHeaderAuthenticator({ allowedNames: [] });
    assert.equal(open.authenticate(inbound), undefined);
    assert.equal(open.isVerifiedPeer(inbound), false);
  });

  it('S10: refuses a certificate of the right authority under a name that is not allowed', () => {
    for (const name of ['mallory', '', 'front-proxy ', 'Front-Proxy']) {
      const inbound = inboundRequest(headers, withCertificate('requestheader-client-ca', name));
      assert.throws(() => authenticator.authenticate(inbound), {
        name: 'AuthenticationError',
        message: `x509: subject with cn=${name} is not in the allowed list`,
      });
      assert.equal(authenticator.isVerifiedPeer(inbound), false);
    }
  });

  it('allows any name of the authority where the list is empty', () => {
    const open = new RequestHeaderAuthenticator({ allowedNames: [] });
    const inbound = inboundRequest(headers, withCertificate('requestheader-client-ca', 'anything'));
    assert.equal(open.authenticate(inbound)?.kind, 'authenticated');
    assert.equal(open.isVerifiedPeer(inbound), true);
  });

  it('has no opinion where the front proxy names no user, though the peer is verified', () => {
    const inbound = inboundRequest(['X-Remote-Group', 'g', 'X-Remote-User', ''], frontProxy);
    assert.equal(authenticator.authenticate(inbound), undefined);
    assert.equal(authenticator.isVerifiedPeer(inbound), true);
  });
});

describe('what the headers say', () => {
  const names: IdentityHeaderNames = {
    username: ['X-Remote-User', 'X-Proxy-User'],
    uid: ['X-Remote-Uid', 'X-Proxy-Uid'],
    group: ['X-Remote-Group', 'X-Proxy-Group'],
    extraPrefix: ['X-Remote-Extra-', 'X-Proxy-Extra-'],
  };

  it('takes the first configured header whose first value is not empty', () => {
    const headers = [
      'X-Proxy-User',
      'second',
      'x-remote-user',
      '',
      'X-Remote-User',
      'late',
      'X-Proxy-Uid',
      '7',
    ];
    const user = userOf(headers, names);
    assert.equal(user?.name, 'second');
    assert.equal(user?.uid, '7');
    assert.equal(userOf(['X-Proxy-User', 'b', 'X-REMOTE-USER', 'a'], names)?.name, 'a');
  });

  it('takes all non-empty groups in configured order and never splits at commas', () => {
    const groups = [
      'X-Proxy-Group',
      'c',
      'X-Remote-Group',
      'a,b',
      'X-Remote-Group',
      '',
      'x-remote-group',
      'a, b',
    ];
    assert.deepEqual(userOf(['X-Remote-User', 'u', ...groups], names)?.groups, ['a,b', 'a, b', 'c']);
  });

  it('lower-cases and decodes extra keys, and keeps those that cannot be decoded', () => {
    const lines = [
      ...[
        'X-Remote-Extra-Example.Com%2FFoo',
        '1',
        'x-remote-extra-example.com%2ffoo',
        '',
        'X-Proxy-Extra-A',
        '2',
      ],
      ...[
        'X-Remote-Extra-50%',
        '3',
        'X-Remote-Extra-%FF',
        '4',
        'X-Remote-Extra-%C3%BC',
        '5',
        'X-Remote-Extra-',
        '6',
      ],
    ];
    assert.deepEqual(
      userOf(['X-Remote-User', 'u', ...lines], names)?.extra,
      new Map([
        ['example.com/foo', ['1', '']],
        ['50%', ['3']],
        ['%ff', ['4']],
        ['ü', ['5']],
        ['', ['6']],
        ['a', ['2']],
      ]),
    );
  });

  it('keeps prototype names inert', () => {
    const extra = userOf(['X-Remote-User', 'u', 'X-Remote-Extra-__proto__', 'x'])?.extra;
    assert.deepEqual([...(extra ?? [])], [['__proto__', ['x']]]);
  });

  it('S9: does not read underscore twins or headers that proxies use for other things', () => {
    const twins = ['X_Remote_User', 'root', 'X-Original-URL', '/x', 'X-Forwarded-User', 'root'];
    assert.equal(userOf(twins), undefined);
    assert.deepEqual(userOf([...twins, 'X-Remote-User', 'jane', 'X_Remote_Group', 'system:masters']), {
      name: 'jane',
      uid: '',
      groups: [],
      extra: new Map(),
    });
  });

  it('S8: reads the identity also where the request nominates it for removal', () => {
    const headers = ['Connection', 'X-Remote-Group', 'X-Remote-User', 'u', 'X-Remote-Group', 'g'];
    assert.deepEqual(userOf(headers)?.groups, ['g']);
  });

  it('reads values as UTF-8, and keeps a byte order mark as part of the name', () => {
    assert.equal(userOf(['X-Remote-User', toByteString('jürgen')])?.name, 'jürgen');
    assert.equal(userOf(['X-Remote-User', toByteString('\ufeffadmin')])?.name, '\ufeffadmin');
  });

  it('refuses names that are not UTF-8, since they could not be forwarded as they are', () => {
    for (const value of ['\u00ff', 'j\u00fcrgen', '\u00ed\u00a0\u0080', '開']) {
      assert.throws(() => userOf(['X-Remote-User', value]), {
        name: 'AuthenticationError',
        message: 'the asserted user name is not UTF-8 text',
      });
    }
  });
});

describe('configured header names', () => {
  it('refuses blank ones and ones that no header can have', () => {
    for (const bad of ['', '  ', 'X Remote', 'X-Remote:']) {
      for (const field of ['username', 'uid', 'group', 'extraPrefix'] as const) {
        const headerNames = { ...defaultIdentityHeaderNames, [field]: ['X-Fine', bad] };
        assert.throws(() => new RequestHeaderAuthenticator({ allowedNames: [], headerNames }), TypeError);
      }
    }
  });
});
