import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { mixedCluster } from '../../test/support/clusters/decision-rows.ts';
import { recordingLogger } from '../../test/support/recording-logger.ts';
import { inboundRequest } from '../../test/support/routers/inbound-request.ts';
import {
  type RecordingTransport,
  recordingTransport,
} from '../../test/support/routers/recording-transport.ts';
import { testApp, userConnection } from '../../test/support/routers/test-app.ts';
import { allHeaders, headerLines, type RawHeaders } from '../apimachinery/raw-headers.ts';
import { TransportError } from './destination.ts';
import {
  auditIdOf,
  cleanRequestHeaders,
  cleanResponseHeaders,
  hasVerifiedRerouteMark,
  type IdentityHeaderNames,
  withAuditId,
} from './headers.ts';
import type { RequestObserver } from './inbound.ts';
import { passedOnResponse } from './transport.ts';
import type { Caller } from './user-info.ts';

const configured: IdentityHeaderNames = {
  username: ['X-Proxy-User'],
  uid: ['X-Proxy-Uid'],
  group: ['X-Proxy-Group', 'X-Proxy-Team'],
  extraPrefix: ['X-Proxy-Extra-', 'X-Proxy-Scope.'],
};

const hopByHop = [
  'Connection',
  'Keep-Alive',
  'Proxy-Connection',
  'Proxy-Authenticate',
  'Proxy-Authorization',
  'TE',
  'Trailer',
  'Transfer-Encoding',
  'Upgrade',
  'HTTP2-Settings',
  'Expect',
];

describe('request hygiene', () => {
  it('keeps end-to-end lines in order, in the case they came in, repeated ones apart', () => {
    const headers = [
      'accept',
      'a',
      'Accept',
      'b, c',
      'X-Trace',
      '',
      'accept',
      'a',
      'Impersonate-Group',
      'x,y',
    ];
    const cleaned = cleanRequestHeaders(headers);
    assert.deepEqual(cleaned, headers);
    assert.notEqual(cleaned, headers, 'the caller may add to the list');
  });

  it('keeps Content-Length and the credentials of the caller', () => {
    const headers = ['Content-Length', '12', 'Content-Type', 'application/json', 'Authorization', 'Bearer t'];
    assert.deepEqual(cleanRequestHeaders(headers), headers);
  });

  it('removes what is meant for one connection only', () => {
    for (const name of hopByHop) {
      for (const spelling of [name, name.toLowerCase(), name.toUpperCase()]) {
        assert.deepEqual(cleanRequestHeaders([spelling, 'x', 'Accept', 'a']), ['Accept', 'a'], spelling);
      }
    }
  });

  it('removes Host and pseudo headers, which the transport writes itself', () => {
    const headers = [
      ':method',
      'GET',
      ':authority',
      'evil',
      ':protocol',
      'websocket',
      'Host',
      'evil',
      'a',
      'b',
    ];
    assert.deepEqual(cleanRequestHeaders(headers), ['a', 'b']);
  });

  it('removes what any of several Connection lines nominates', () => {
    const headers = [
      'X-One',
      '1',
      'connection',
      'x-one , ,close',
      'X-Two',
      '2',
      'Connection',
      'X-TWO',
      'X-Three',
      '3',
    ];
    assert.deepEqual(cleanRequestHeaders(headers), ['X-Three', '3']);
  });

  it('drops Content-Length beside Transfer-Encoding, so that a body has one end (request smuggling)', () => {
    const headers = ['Content-Length', '4', 'Transfer-Encoding', 'chunked', 'Accept', 'a'];
    assert.deepEqual(cleanRequestHeaders(headers), ['Accept', 'a']);
  });

  it('S8: a nomination does not turn a credentialed request into an anonymous one', () => {
    const headers = [
      'Authorization',
      'Bearer t',
      'Cookie',
      'c=1',
      'Sec-WebSocket-Protocol',
      'v5.channel.k8s.io',
    ];
    const nominations = 'Authorization, Cookie, sec-websocket-protocol';
    assert.deepEqual(cleanRequestHeaders([...headers, 'Connection', nominations]), headers);
  });

  it('S8: a nomination does not undo the impersonation that a proxy in front added', () => {
    const headers = ['Impersonate-User', 'jane', 'Impersonate-Group', 'dev', 'Impersonate-Extra-a', 'b'];
    const nominations = 'Impersonate-User, impersonate-group, Impersonate-Extra-a';
    assert.deepEqual(cleanRequestHeaders(['Connection', nominations, ...headers]), headers);
  });

  it('S8: a nomination changes neither framing nor coding of the body, nor the recorded client', () => {
    const headers = [
      'Content-Length',
      '5',
      'Content-Encoding',
      'gzip',
      'Content-Type',
      'a/b',
      'X-Forwarded-For',
      '::1',
    ];
    const nominations = 'content-length, Content-Encoding, content-type, x-forwarded-for, host';
    assert.deepEqual(cleanRequestHeaders(['Connection', nominations, ...headers]), headers);
  });

  it('S6: removes the standard identity headers in any number and case', () => {
    const headers = ['X-Remote-User', 'a', 'x-remote-user', 'b', 'X-REMOTE-UID', '1', 'X-Remote-Group', 'g'];
    const extras = ['X-Remote-Group', 'h', 'X-Remote-Extra-Scopes', 's', 'x-remote-extra-', 't'];
    assert.deepEqual(cleanRequestHeaders([...headers, 'Accept', 'a', ...extras]), ['Accept', 'a']);
  });

  it('S6: removes the configured twins besides the standard names', () => {
    const headers = ['X-Proxy-User', 'a', 'x-proxy-uid', '1', 'X-Proxy-Group', 'g', 'X-Proxy-Team', 't'];
    const extras = [
      'X-Proxy-Extra-A',
      'b',
      'X-Proxy-Scope.a',
      'c',
      'X-Remote-User',
      'd',
      'X-Remote-Extra-e',
      'f',
    ];
    assert.deepEqual(cleanRequestHeaders([...headers, ...extras, 'Accept', 'a'], configured), [
      'Accept',
      'a',
    ]);
    assert.deepEqual(
      cleanRequestHeaders(['X-Proxy-User', 'a']),
      ['X-Proxy-User', 'a'],
      'not configured here',
    );
  });

  it('S9: removes underscore, dot and mixed-case twins', () => {
    for (const name of [
      'X_Remote_User',
      'x-REMOTE_user',
      'X.Remote.Group',
      'x_remote_uid',
      'X_Remote_Extra_Scopes',
      'X-Remote~Group',
      'X_Proxy_Team',
      'x-proxy-scope-a',
      'X_Proxy_Scope_a',
      'mixed_version_proxy_identity',
    ]) {
      assert.deepEqual(cleanRequestHeaders([name, 'system:masters'], configured), [], name);
    }
  });

  it('removes a peer assertion and a reroute mark that came with the request', () => {
    const headers = ['Mixed-Version-Proxy-Identity', 'eyJ', 'X-Kubernetes-Peer-Proxied', 'true'];
    assert.deepEqual(cleanRequestHeaders([...headers, 'x_kubernetes_peer_proxied', 'true']), []);
  });

  it('leaves no hop-by-hop or identity line over, whatever comes in, and touches nothing else', () => {
    const name = fc.oneof(
      fc.constantFrom(...hopByHop, 'Host', ':path', 'X-Remote-User', 'x_remote_group', 'X-Remote-Extra-a'),
      fc.constantFrom('Accept', 'X-Custom', 'Content-Type', 'Authorization'),
    );
    const value = fc.oneof(fc.constantFrom('X-Custom', 'accept, authorization', 'chunked'), fc.string());
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value)), (lines) => {
        const cleaned = [...headerLines(cleanRequestHeaders(lines.flat()))];
        const nominated = new Set(
          lines
            .filter(([each]) => each === 'Connection')
            .flatMap(([, options]) => options.split(',').map((option) => option.trim().toLowerCase())),
        );
        const expected = lines.filter(
          ([each]) =>
            ['Content-Type', 'Authorization'].includes(each) ||
            (['Accept', 'X-Custom'].includes(each) && !nominated.has(each.toLowerCase())),
        );
        assert.deepEqual(cleaned, expected);
      }),
    );
  });
});

describe('response hygiene', () => {
  it('removes what is meant for the connection to the destination, so that an HTTP/2 answer does not throw', () => {
    for (const name of [...hopByHop, ':status']) {
      assert.deepEqual(cleanResponseHeaders([name, 'x', 'ETag', '"1"']), ['ETag', '"1"'], name);
    }
    assert.deepEqual(cleanResponseHeaders(['Connection', 'X-Hop', 'x-hop', '1', 'A', 'b']), ['A', 'b']);
  });

  it('keeps everything else as separate lines', () => {
    const headers = [
      'Retry-After',
      '1',
      'Warning',
      '299 - "a"',
      'Warning',
      '299 - "b, c"',
      'Content-Encoding',
      'gzip',
    ];
    const more = ['Content-Length', '7', 'Audit-Id', 'x', 'Access-Control-Allow-Origin', '*', 'Host', 'kept'];
    assert.deepEqual(cleanResponseHeaders([...headers, ...more]), [...headers, ...more]);
  });

  it('drops Content-Length beside Transfer-Encoding', () => {
    assert.deepEqual(cleanResponseHeaders(['content-length', '3', 'transfer-encoding', 'chunked']), []);
  });
});

describe('the reroute mark', () => {
  const user = { name: 'jane', uid: '', groups: [], extra: new Map() };
  const peer: Caller = {
    kind: 'authenticated',
    user,
    authenticator: 'request-header',
    viaVerifiedPeer: true,
  };
  const client: Caller = { kind: 'authenticated', user, authenticator: 'x509', viaVerifiedPeer: false };
  const marked = ['X-Kubernetes-Peer-Proxied', 'true'];

  it('counts from a verified peer, with or without a user', () => {
    assert.equal(hasVerifiedRerouteMark(marked, peer), true);
    assert.equal(hasVerifiedRerouteMark(marked, { kind: 'passthrough' }, true), true);
    assert.equal(hasVerifiedRerouteMark([], peer), false);
  });

  it('S16: counts from nobody else', () => {
    assert.equal(hasVerifiedRerouteMark(marked, client), false);
    assert.equal(hasVerifiedRerouteMark(marked, { kind: 'passthrough' }), false);
  });

  it('is its first value, and exactly true', () => {
    for (const value of ['', 'True', '1', 'true ', 'true, true']) {
      assert.equal(
        hasVerifiedRerouteMark(['x-kubernetes-peer-proxied', value, ...marked], peer),
        false,
        value,
      );
    }
    assert.equal(hasVerifiedRerouteMark([...marked, 'x-kubernetes-peer-proxied', 'no'], peer), true);
    assert.equal(hasVerifiedRerouteMark(['x_kubernetes_peer_proxied', 'true'], peer), false, 'no twin');
  });
});

const jobs = 'https://router/apis/batch/v1/jobs';

/** As an audit or a trace does: the ID is asked for before the request leaves. */
const writesAboutIt: RequestObserver = {
  accepted({ inbound }) {
    auditIdOf(inbound);
  },
};

describe('the audit ID', () => {
  it("is the request's own where it is plain, and stays the same", () => {
    const inbound = inboundRequest(['audit-id', 'from-kubectl_1:2.3']);
    assert.equal(auditIdOf(inbound), 'from-kubectl_1:2.3');
    assert.equal(auditIdOf(inbound), 'from-kubectl_1:2.3');
  });

  it('is a new one where the given one is long, empty, or could be taken for something else', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.constant(''), fc.constant('a'.repeat(65)), fc.stringMatching(/^.*[\s"'<>{},;=\\].*$/)),
        (given) => {
          const made = auditIdOf(inboundRequest(['Audit-ID', given]));
          assert.match(made, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
        },
      ),
    );
  });

  it('goes to the destination in place of what the client sent, once somebody writes about the request', async () => {
    const { app, transport } = await testApp({ snapshot: mixedCluster, observers: [writesAboutIt] });
    await app.request(jobs, { headers: { 'audit-id': 'x"} {"forged":"' } });
    const [auditId = '', ...others] = allHeaders(transport.sent[0]?.headers ?? [], 'audit-id');
    assert.match(auditId, /^[0-9a-f-]{36}$/);
    assert.deepEqual(others, []);
  });

  it("is the client's own line on the way out while nobody writes about the request", async () => {
    const { app, transport } = await testApp({ snapshot: mixedCluster });
    await app.request(jobs, { headers: { 'audit-id': 'given' } });
    await app.request(jobs);
    assert.deepEqual(
      transport.sent.map(({ headers }) => allHeaders(headers, 'audit-id')),
      [['given'], []],
    );
  });

  it("stands once in every response: the destination's own, or else the router's", async () => {
    const answers = [['audit-id', 'of-the-server'], []];
    const passedOn: RawHeaders[] = [];
    const transport: RecordingTransport = {
      sent: [],
      async send(_outbound, _inbound, onResponseHead) {
        const disposition = onResponseHead({ status: 200, headers: answers.shift() ?? [] });
        if (disposition.kind === 'forward') passedOn.push(disposition.headers);
        return passedOnResponse(new Response(''));
      },
    };
    const { app } = await testApp({ snapshot: mixedCluster, transport, observers: [writesAboutIt] });
    await app.request(jobs, { headers: { 'audit-id': 'given' } });
    await app.request(jobs, { headers: { 'audit-id': 'given' } });
    assert.deepEqual(
      passedOn.map((headers) => allHeaders(headers, 'audit-id')),
      [['of-the-server'], ['given']],
    );
  });

  it("stands in the router's own responses: health, refusals, errors", async () => {
    const transport = recordingTransport(() => {
      throw new TransportError('ConnectFailed', 'refused', { mayHaveBeenProcessed: false });
    });
    const { app } = await testApp({ snapshot: mixedCluster, transport });
    const targets = ['/livez', '/.mixed-version-proxy/v1/status', '/api/v1/watch', '/apis/batch/v1/jobs'];
    const codes: number[] = [];
    for (const target of targets) {
      const response = await app.request(`https://router${target}`, { headers: { 'audit-id': 'given' } });
      codes.push(response.status);
      assert.equal(response.headers.get('audit-id'), 'given', target);
    }
    assert.deepEqual(codes, [200, 503, 500, 503]);
  });

  it('stands in the lines that tell of an error, and on the second try', async () => {
    const { logger, lines } = recordingLogger();
    let tries = 0;
    const transport = recordingTransport(() => {
      tries += 1;
      if (tries > 1) return new Response('');
      throw new TransportError('ConnectFailed', 'refused', { mayHaveBeenProcessed: false });
    });
    const connection = userConnection('alice');
    const { app } = await testApp({ snapshot: mixedCluster, transport, logger, connection });
    await app.request(jobs);
    const told = lines.find(({ message }) => message === 'A destination did not respond');
    assert.deepEqual(allHeaders(transport.sent[1]?.headers ?? [], 'audit-id'), [told?.fields['audit-ID']]);
  });

  it('does not break on a response of a library handler that cannot be changed', async () => {
    const response = await fetch('data:text/plain,fixed');
    assert.throws(() => response.headers.set('a', 'b'), TypeError);
    assert.equal(withAuditId(response, inboundRequest()), response);
  });
});
