import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runInNewContext } from 'node:vm';
import { inboundRequest, withCertificate } from '../../test/support/routers/inbound-request.ts';
import type { Caller, UserInfo } from '../request/user-info.ts';
import { AuthenticationError, type Authenticator, askAuthenticators } from './authenticator.ts';

import { RequestHeaderAuthenticator } from './request-header.ts';
import { stampIdentity } from './stamp-identity.ts';
import { X509Authenticator } from './x509.ts';

const chain = [new RequestHeaderAuthenticator({ allowedNames: ['front-proxy'] }), new X509Authenticator()];

function succeeding(user: Partial<UserInfo>): Authenticator {
  const whole: UserInfo = { name: 'jane', uid: '', groups: [], extra: new Map(), ...user };
  return {
    name: 'fixed',
    authenticate: async () => ({
      kind: 'authenticated',
      user: whole,
      authenticator: 'fixed',
      viaVerifiedPeer: false,
    }),
  };
}

function throwing(error: Error): Authenticator {
  return {
    name: 'throwing',
    authenticate() {
      throw error;
    },
  };
}

async function groupsOf(user: Partial<UserInfo>): Promise<readonly string[]> {
  const caller = await askAuthenticators(inboundRequest(), [succeeding(user)]);
  assert.ok(caller.kind === 'authenticated');
  return caller.user.groups;
}

describe('the union of authenticators', () => {
  it('lets the first success win and asks no further', async () => {
    const unasked = throwing(new Error('asked all the same'));
    const caller = await askAuthenticators(inboundRequest(), [succeeding({ name: 'first' }), unasked]);
    assert.ok(caller.kind === 'authenticated');
    assert.equal(caller.user.name, 'first');
  });

  it('attack: waits for an opinion that is no Promise of this realm, and heeds its refusal', async () => {
    // As what a remote call on an edge runtime returns: it has `then`, and another constructor.
    const elsewhere = (error: Error): Authenticator => ({
      name: 'elsewhere',
      authenticate: () => runInNewContext('Promise.reject(error)', { error }),
    });
    const refusing = elsewhere(new AuthenticationError('token expired'));
    await assert.rejects(async () => askAuthenticators(inboundRequest(), [refusing]), /token expired/);
    const caller = await askAuthenticators(inboundRequest(), [refusing, succeeding({ name: 'next' })]);
    assert.ok(caller.kind === 'authenticated');
    assert.equal(caller.user.name, 'next');
  });

  it('attack: stamps whoever calls now, also where an authenticator uses one object for all callers', () => {
    const user: UserInfo = { name: '', uid: '', groups: [], extra: new Map() };
    const caller: Caller = { kind: 'authenticated', user, authenticator: 'reusing', viaVerifiedPeer: false };
    for (const change of [
      (name: string) => Object.assign(caller, { user: { ...user, name } }),
      (name: string) => Object.assign(caller.user, { name, groups: ['system:authenticated'] }),
    ]) {
      for (const name of ['alice', 'bob']) {
        change(name);
        const reusing: Authenticator = { name: 'reusing', authenticate: () => caller };
        const known = askAuthenticators(inboundRequest(), [reusing]);
        assert.ok(!(known instanceof Promise));
        assert.deepEqual(stampIdentity([], known), [
          'X-Remote-User',
          name,
          'X-Remote-Group',
          'system:authenticated',
        ]);
      }
    }
  });

  it('remembers what it has made of a connection’s certificate', async () => {
    const request = inboundRequest([], withCertificate('client-ca', 'jane'));
    const [first, second] = [
      await askAuthenticators(request, chain),
      await askAuthenticators(request, chain),
    ];
    assert.equal(first.kind, 'authenticated');
    assert.equal(first, second);
  });

  it('forgets refusals once another authenticator succeeds', async () => {
    const refusing = throwing(new AuthenticationError('token expired'));
    assert.equal(
      (await askAuthenticators(inboundRequest(), [refusing, succeeding({})])).kind,
      'authenticated',
    );
  });

  it('tells every refusal when none succeeds', async () => {
    const refusing = ['token expired', 'unknown key'].map((message) =>
      throwing(new AuthenticationError(message)),
    );
    await assert.rejects(async () => askAuthenticators(inboundRequest(), refusing), {
      name: 'AuthenticationError',
      message: 'token expired; unknown key',
    });
  });

  it('passes an error of the router on as such, never as a pass-through', async () => {
    const issue = new TypeError('broken');
    await assert.rejects(
      async () => askAuthenticators(inboundRequest(), [throwing(issue), succeeding({})]),
      issue,
    );
  });

  it('S6: an anonymous request passes through, whatever X-Remote headers it carries', async () => {
    const headers = ['X-Remote-User', 'admin', 'X-Remote-Group', 'system:masters'];
    assert.deepEqual(await askAuthenticators(inboundRequest(headers), chain), { kind: 'passthrough' });
  });

  it('a token that nobody here can check passes through', async () => {
    const inbound = inboundRequest(['Authorization', 'Bearer opaque']);
    assert.deepEqual(await askAuthenticators(inbound, chain), { kind: 'passthrough' });
  });
});

describe('system:authenticated', () => {
  it('is added behind the asserted groups, once', async () => {
    assert.deepEqual(await groupsOf({ groups: ['dev', 'dev'] }), ['dev', 'dev', 'system:authenticated']);
    assert.deepEqual(await groupsOf({ groups: ['system:authenticated', 'dev'] }), [
      'system:authenticated',
      'dev',
    ]);
  });

  it('is never given to an anonymous caller that a front proxy asserts', async () => {
    assert.deepEqual(await groupsOf({ name: 'system:anonymous', groups: [] }), []);
    assert.deepEqual(await groupsOf({ groups: ['system:unauthenticated'] }), ['system:unauthenticated']);
  });
});

describe('an identity that no header line can carry', () => {
  it('is refused at the door', async () => {
    for (const user of [
      { name: 'a\r\nX-Remote-Group: system:masters' },
      { uid: '\0' },
      { groups: [' g'] },
      { extra: new Map([['k', ['\n']]]) },
      { extra: new Map([['\ud800', ['v']]]) },
    ]) {
      await assert.rejects(
        async () => askAuthenticators(inboundRequest(), [succeeding(user)]),
        AuthenticationError,
      );
    }
  });
});

describe('a client certificate that could not be verified', () => {
  const subprotocols = 'v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.dG9rZW4';
  const connection = { clientCertificateError: 'TLS verification failed: SELF_SIGNED_CERT_IN_CHAIN' };

  it('S10: is refused, without telling the caller why', async () => {
    for (const headers of [
      [],
      ['X-Remote-User', 'admin'],
      ['Authorization', 'Basic YTpi'],
      ['Authorization', 'Bearer '],
      // An API server looks for a token there in a WebSocket handshake only: it would take the caller for anonymous.
      ['Sec-WebSocket-Protocol', subprotocols],
    ]) {
      await assert.rejects(
        async () => askAuthenticators(inboundRequest(headers, connection), chain),
        (error: Error) => {
          assert.ok(error instanceof AuthenticationError);
          assert.match(error.message, /client certificate could not be verified/);
          assert.doesNotMatch(error.message, /SELF_SIGNED/);
          assert.equal(error.cause, connection.clientCertificateError);
          return true;
        },
      );
    }
  });

  it('does not matter when another authenticator succeeds', async () => {
    const caller = await askAuthenticators(inboundRequest([], connection), [...chain, succeeding({})]);
    assert.equal(caller.kind, 'authenticated');
  });

  it('leaves the word to the API server where a bearer token speaks for the caller', async () => {
    for (const headers of [
      ['Authorization', 'bearer opaque'],
      ['Connection', 'keep-alive, Upgrade', 'Upgrade', 'websocket', 'Sec-WebSocket-Protocol', subprotocols],
    ]) {
      const caller = await askAuthenticators(inboundRequest(headers, connection), chain);
      assert.deepEqual(caller, { kind: 'passthrough' });
    }
    const refusedToken = throwing(new AuthenticationError('token expired'));
    const inbound = inboundRequest(['Authorization', 'Bearer expired'], connection);
    await assert.rejects(async () => askAuthenticators(inbound, [...chain, refusedToken]), /token expired/);
  });

  it('attack: a token in a subprotocol of what is no upgrade is none to an API server, and speaks for nobody', async () => {
    const inbound = inboundRequest(
      ['Upgrade', 'websocket', 'Sec-WebSocket-Protocol', subprotocols],
      connection,
    );
    await assert.rejects(async () => askAuthenticators(inbound, chain), AuthenticationError);
  });

  it('a front-proxy certificate under a name that is not allowed is refused likewise', async () => {
    const mallory = withCertificate('requestheader-client-ca', 'mallory', ['system:masters']);
    await assert.rejects(
      async () => askAuthenticators(inboundRequest(['X-Remote-User', 'admin'], mallory), chain),
      /subject with cn=mallory is not in the allowed list/,
    );
  });
});
