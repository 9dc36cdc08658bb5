import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { recordingTransport } from '../../../test/support/recording-transport.ts';
import { type ServerOptions, snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { statusView } from '../../../test/support/status-view.ts';
import { testApp, userConnection } from '../../../test/support/test-app.ts';
import { statusResponse } from '../../apimachinery/status.ts';
import { ServerHealth } from '../../health/server-health.ts';
import type { OutboundRequest } from '../../request/transport.ts';
import { TransportError } from '../../request/transport-error.ts';
import type { RoutersView } from './routers-view.ts';

const routersUrl = 'https://router.test/.mixed-version-proxy/v1/routers';
const connection = userConnection('admin', ['system:masters']);
const serves: ServerOptions = { serves: ['v1/pods'] };
const snapshot = snapshotOf({
  'cp-a': { ...serves, address: '10.0.0.1:6444' },
  'cp-b': { ...serves, address: '10.0.0.2:6444' },
});
const advertised = () => ({ address: '10.0.0.1:6443', serverId: 'cp-a', by: 'default-interface' }) as const;

type ToldView = Pick<RoutersView, 'agree' | 'notAsked' | 'routers'>;

async function askRouters(answer: (outbound: OutboundRequest) => Response | Promise<Response>) {
  const transport = recordingTransport(answer);
  const health = new ServerHealth({ rise: 1, fall: 1, slowStart: 0 });
  health.follow('cp-b');
  const local = {
    kind: 'local',
    id: 'cp-a',
    origin: 'https://127.0.0.1:6444',
    serverName: 'kubernetes.default.svc',
    trust: { kind: 'peer-ca' },
  } as const;
  const { app } = await testApp({ snapshot, connection, transport, advertised, health, local });
  const asked = app.fetch(new Request(routersUrl, { headers: { 'user-agent': 'kubectl', 'if-match': 'x' } }));
  return { asked, transport, health };
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
    assert.equal(headers.has('if-match'), false);
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
        () =>
          Promise.reject(new TransportError('ConnectFailed', 'refused', { requestMayHaveArrived: false })),
        /cannot be reached from the router that was asked/,
      ],
    ] as const;
    for (const [answer, expected] of said) assert.match((await whatIsSaidOf(answer)) ?? '', expected);
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
