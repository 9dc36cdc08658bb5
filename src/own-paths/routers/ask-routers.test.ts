import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { decodeJwt } from 'jose';
import { speaker } from '../../../test/support/assertions.ts';
import { recordingTransport } from '../../../test/support/recording-transport.ts';
import { type ServerOptions, snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { statusView } from '../../../test/support/status-view.ts';
import { type TestAppOptions, testApp, userConnection } from '../../../test/support/test-app.ts';
import { allHeaders } from '../../apimachinery/raw-headers.ts';
import { statusResponse } from '../../apimachinery/status.ts';
import { ServerHealth } from '../../health/server-health.ts';
import { createAssertionSigner } from '../../identity/assertion/sign-assertion.ts';
import { X509Authenticator } from '../../identity/incoming/x509.ts';
import { refuseAuthenticated } from '../../node/callers/node-authenticators.ts';
import { createRouter } from '../../proxy/create-router.ts';
import { RequestGate } from '../../proxy/in-flight/request-gate.ts';
import { peerAssertionHeader } from '../../request/identity-header-names.ts';
import type { OutboundRequest } from '../../request/transport.ts';
import { TransportError } from '../../request/transport-error.ts';
import { silentLogger } from '../../runtime/logger.ts';
import type { RoutersView } from './routers-view.ts';

const routersUrl = 'https://router.test/.mixed-version-proxy/v1/routers';
const connection = userConnection('admin', ['system:masters']);
const serves: ServerOptions = { serves: ['v1/pods'] };
const snapshot = snapshotOf({
  'cp-a': { ...serves, address: '10.0.0.1:6444' },
  'cp-b': { ...serves, address: '10.0.0.2:6444' },
});
const advertised = () => ({ address: '10.0.0.1:6443', serverId: 'cp-a', by: 'default-interface' }) as const;

/** What a browser, or somebody who would be another, sends besides. */
const sent = {
  'user-agent': 'kubectl',
  'if-match': 'x',
  authorization: 'Bearer secret',
  cookie: 'session=secret',
  'x-remote-user': 'root',
  'x-remote-extra-scopes': 'all',
  [peerAssertionHeader]: 'secret',
};

type ToldView = Pick<RoutersView, 'agree' | 'notAsked' | 'routers'>;

async function askRouters(
  answer: (outbound: OutboundRequest) => Response | Promise<Response>,
  options: Pick<TestAppOptions, 'identityTokens' | 'gate'> = {},
) {
  const transport = recordingTransport(answer);
  const health = new ServerHealth({ rise: 1, fall: 1, slowStart: 0 });
  health.follow('cp-b');
  const { app } = await testApp({
    ...{ snapshot, connection, transport, advertised, health, serverId: 'cp-a' },
    ...options,
  });
  const asked = app.fetch(new Request(routersUrl, { headers: sent }));
  return { asked, transport, health };
}

function brokenOff(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.error(new Error('reset')) });
}

async function whatIsSaidOf(answer: (outbound: OutboundRequest) => Response | Promise<Response>) {
  const { asked, health } = await askRouters(answer);
  const view = (await (await asked).json()) as ToldView;
  assert.equal(health.report('cp-b')?.status, 'unknown');
  assert.equal(view.agree, null);
  return view.routers[1]?.error ?? undefined;
}

describe('the routers of other servers', () => {
  it('are asked as the caller, where routers listen, and tell of themselves', async () => {
    const { asked, transport } = await askRouters(() => Response.json(statusView('cp-b')));
    const response = await asked;
    assert.equal(response.status, 200);
    const { routers, notAsked, agree } = (await response.json()) as ToldView;
    assert.deepEqual(
      routers.map(({ server, serverId, error }) => [server, serverId, error]),
      [
        ['https://10.0.0.1:6443', 'cp-a', null],
        ['https://10.0.0.2:6443', 'cp-b', null],
      ],
    );
    assert.deepEqual([notAsked, agree], [[], null]);
    const [outbound] = transport.sent;
    assert.equal(transport.sent.length, 1);
    assert.equal(outbound?.target, '/.mixed-version-proxy/v1/status');
    assert.equal(outbound?.destination.origin, 'https://10.0.0.2:6443');
    assert.equal(outbound?.destination.serverName, 'kubernetes.default.svc');
    assert.equal(outbound?.presentFrontProxyCertificate, true);
    const headers = new Headers(
      Array.from({ length: (outbound?.headers.length ?? 0) / 2 }, (_, index): [string, string] => [
        outbound?.headers[2 * index] ?? '',
        outbound?.headers[2 * index + 1] ?? '',
      ]),
    );
    assert.equal(headers.get('x-remote-user'), 'admin');
    assert.equal(headers.get('x-remote-group'), 'system:masters, system:authenticated');
    assert.equal(headers.get('accept'), 'application/json');
    assert.equal(headers.get('user-agent'), 'kubectl');
    for (const name of [
      'if-match',
      'authorization',
      'cookie',
      'x-remote-extra-scopes',
      peerAssertionHeader,
    ]) {
      assert.equal(headers.has(name), false, name);
    }
  });

  it('get assertions that are addressed to them, where those say who asks', async () => {
    const { key } = await speaker('edge');
    const peer = createAssertionSigner({ key, issuer: 'edge' });
    const { asked, transport } = await askRouters(() => Response.json(statusView('cp-b')), {
      identityTokens: { peer },
    });
    await asked;
    const [assertion = ''] = allHeaders(transport.sent[0]?.headers ?? [], peerAssertionHeader);
    const { aud, path } = decodeJwt(assertion);
    assert.deepEqual([aud, path], ['cp-b', '/.mixed-version-proxy/v1/status']);
  });

  it('are not said to tell when something else responds', async () => {
    const said = [
      [
        () => statusResponse('NotFound', 'no such path'),
        /10\.0\.0\.2:6443 returned 404: it is an API server/,
      ],
      [() => statusResponse('Forbidden', 'no'), /returned 403: it is no router, or one that has the caller/],
      [() => statusResponse('Unauthorized', 'no'), /returned 401: it does not take this router's word/],
      [() => new Response('<html>'), /10\.0\.0\.2:6443 is no router/],
      [() => Response.json(statusView(null)), /is a gateway/],
      [() => Response.json(statusView('cp-c')), /is the router of cp-c/],
      [
        () => Promise.reject(new TransportError('ConnectFailed', 'refused', { mayHaveBeenProcessed: false })),
        /cannot be reached from the router that was asked/,
      ],
      [() => new Response(' '.repeat(1024 * 1024 + 1)), /10\.0\.0\.2:6443 sent more than a status/],
      [() => new Response(brokenOff()), /10\.0\.0\.2:6443 broke off its response/],
    ] as const;
    for (const [answer, expected] of said) assert.match((await whatIsSaidOf(answer)) ?? '', expected);
  });

  it('are not said to be down where this one has not asked them', async () => {
    const gate = new RequestGate({ readOnly: 0, mutating: 0, longRunning: 0 });
    gate.refuseNewRequests();
    const { asked, transport } = await askRouters(() => Response.json(statusView('cp-b')), { gate });
    const { routers } = (await (await asked).json()) as ToldView;
    assert.match(routers[1]?.error ?? '', /10\.0\.0\.2:6443 has not been asked: .* shutting down/);
    assert.deepEqual(transport.sent, []);
  });

  it('are sent nothing by a gateway that can tell nobody who asks, a token beside a certificate neither', async () => {
    const transport = recordingTransport();
    const plain = createRouter({
      routingTable: { current: () => undefined },
      transport,
      authenticators: [new X509Authenticator()],
    });
    const router = refuseAuthenticated(plain, silentLogger);
    const { app } = await testApp({ snapshot, connection, transport, advertised, router, serverId: 'cp-a' });
    const headers = { authorization: 'Bearer somebody' };
    const { routers } = (await (await app.fetch(new Request(routersUrl, { headers }))).json()) as ToldView;
    assert.match(routers[1]?.error ?? '', /10\.0\.0\.2:6443 cannot be told who asks: /);
    assert.deepEqual(transport.sent, []);
  });

  it('that tell of a time that is none are no routers: an age is made of it', async () => {
    const servers = [{ id: 'cp-b', health: { status: 'healthy', cause: null, since: 'yesterday' } }];
    assert.match(
      (await whatIsSaidOf(() => Response.json({ ...statusView('cp-b'), servers }))) ?? '',
      /is no router/,
    );
  });

  it('are waited for no longer than two seconds', async (context: TestContext) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const sent = Promise.withResolvers<void>();
    const { asked } = await askRouters(() => {
      sent.resolve();
      return new Promise(() => {});
    });
    await sent.promise;
    context.mock.timers.tick(2_000);
    const { routers } = (await (await asked).json()) as ToldView;
    assert.equal(routers[1]?.error, 'https://10.0.0.2:6443 has not responded within 2 seconds');
  });
});
