import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { test } from 'node:test';
import type { ResolveName } from '../../src/node/destinations/tls-dialer.ts';
import { TlsDialer } from '../../src/node/destinations/tls-dialer.ts';
import { type Destination, TransportError } from '../../src/request/destination.ts';
import {
  type AddressPolicyOptions,
  createAddressPolicy,
} from '../../src/snapshot/addresses/address-policy.ts';
import { startApiServer } from '../support/api-servers/api-server-double.ts';
import { sendAndReadToEnd } from '../support/clients/raw-http1.ts';
import {
  clusterSnapshot,
  pushSnapshot,
  startRouterUnderTest,
  startRunning,
  targets,
} from '../support/routers/router-under-test.ts';
import { clusterAuthority } from '../support/security/certificates.ts';

/** A resolver that gives each name the addresses it is told to. */
function resolverOf(...answers: readonly LookupAddress[][]): ResolveName {
  let asked = 0;
  return (_name, _options, callback) => {
    const answer = answers[Math.min(asked, answers.length - 1)] ?? [];
    asked++;
    setImmediate(() => callback(null, answer));
  };
}

function dialerWith(resolveName: ResolveName, policy: AddressPolicyOptions): TlsDialer {
  const credentials = { peerCertificateAuthorities: clusterAuthority.certificate };
  return new TlsDialer({
    credentials,
    addressPolicy: createAddressPolicy(policy),
    resolveName,
  });
}

function destinationAt(host: string, port: number, kind: Destination['kind'] = 'peer'): Destination {
  return {
    kind,
    id: 'rebound',
    origin: `https://${host}:${port}`,
    serverName: 'kubernetes.default.svc',
    trust: { kind: 'peer-ca' },
  };
}

function dial(dialer: TlsDialer, destination: Destination) {
  return dialer.dial({ destination, presentFrontProxyCertificate: false, protocols: ['http/1.1'] });
}

const loopback: LookupAddress = { address: '127.0.0.1', family: 4 };

test('S5: the name of a peer that resolves to a refused address is not dialled (DNS rebinding)', async (context) => {
  const backend = await startApiServer(context, 'rebound');
  for (const answer of [
    [loopback],
    [{ address: '::ffff:127.0.0.1', family: 6 }],
    [{ address: '169.254.169.254', family: 4 }],
    [{ address: 'fe80::1%1', family: 6 }],
    [{ address: 'no address', family: 4 }],
  ]) {
    const dialer = dialerWith(resolverOf(answer), {});
    await assert.rejects(dial(dialer, destinationAt('peer.example', backend.port)), (error) => {
      assert.ok(error instanceof TransportError);
      assert.equal(error.code, 'ConnectFailed');
      assert.equal(error.mayHaveBeenProcessed, false);
      assert.match(error.message, /no address of the name may be dialled/);
      return true;
    });
  }
  assert.equal(backend.connections, 0);
});

test('S5: a name that changes its mind between two connections is judged at each', async (context) => {
  const backend = await startApiServer(context, 'rebound');
  const metadata: LookupAddress = { address: '169.254.169.254', family: 4 };
  const dialer = dialerWith(resolverOf([loopback], [metadata]), { allowLoopback: true });
  const destination = destinationAt('peer.example', backend.port);

  (await dial(dialer, destination)).destroy();
  assert.equal(backend.connections, 1);
  await assert.rejects(dial(dialer, destination), /169\.254\.169\.254 is /);
  assert.equal(backend.connections, 1);
});

test('S5: of several addresses only those that are allowed are dialled', async (context) => {
  const backend = await startApiServer(context, 'rebound');
  const answer: LookupAddress[] = [
    { address: '169.254.169.254', family: 4 },
    { address: '10.1.2.3', family: 4 },
    loopback,
  ];
  const dialer = dialerWith(resolverOf(answer), { allowedCIDRs: ['127.0.0.0/8'] });
  const socket = await dial(dialer, destinationAt('peer.example', backend.port));
  assert.equal(socket.remoteAddress, '127.0.0.1');
  socket.destroy();
});

test('S5: an address in the origin itself is judged at the dial too, the local server’s own is not', async (context) => {
  const backend = await startApiServer(context, 'here');
  const dialer = dialerWith(resolverOf([loopback]), {});
  await assert.rejects(dial(dialer, destinationAt('127.0.0.1', backend.port)), TransportError);
  await assert.rejects(dial(dialer, destinationAt('[::1]', backend.port)), TransportError);
  assert.equal(backend.connections, 0);

  (await dial(dialer, destinationAt('127.0.0.1', backend.port, 'local'))).destroy();
  (await dial(dialer, destinationAt('localhost', backend.port, 'local'))).destroy();
});

test('S5: a router judges by the policy it was started with', async (context) => {
  const router = await startRouterUnderTest(context);
  const strict = await startRunning(context, [], {
    'server-id': ['local'],
    'local-server': [router.local.origin],
    'allowed-peer-cidrs': ['10.0.0.0/8'],
    'allow-loopback-peers': ['false'],
  });
  const response = await pushSnapshot(strict.port, clusterSnapshot(router));
  assert.equal(response.status, 200);
  const refused = await sendAndReadToEnd(
    context,
    strict.port,
    `GET ${targets.peer} HTTP/1.1\r\nHost: router\r\nConnection: close\r\n\r\n`,
    'alice',
  );
  assert.deepEqual(refused.statuses, [503]);
  assert.deepEqual(router.allRequests(), []);
});

test('S5 S9: neither an absolute-form target nor any header chooses the server', async (context) => {
  const router = await startRouterUnderTest(context);
  const evil = `127.0.0.1:${router.stranger.port}`;
  const absolute = (host: string) =>
    `GET https://${evil}${targets.peer} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  for (const host of [evil, 'localhost']) {
    assert.deepEqual((await sendAndReadToEnd(context, router.port, absolute(host), 'alice')).statuses, [200]);
  }
  assert.deepEqual(
    router.peer.requests.map(({ target }) => target),
    [targets.peer, targets.peer],
  );
  assert.deepEqual([...router.local.requests, ...router.stranger.requests], []);
  router.peer.requests.length = 0;

  const lines = [
    ...[
      'Host: evil.example',
      `X-Forwarded-Host: ${evil}`,
      `X-Forwarded-Server: ${evil}`,
      `Forwarded: host=${evil}`,
    ],
    ...[`X-Host: ${evil}`, `X-Original-URL: ${targets.peer}`, `X-Rewrite-URL: ${targets.peer}`],
    ...[`X-Forwarded-Uri: ${targets.peer}`, `X-Forwarded-Path: ${targets.peer}`],
    ...['X-Forwarded-Prefix: /api/v1', 'X-HTTP-Method-Override: DELETE', 'X-Forwarded-Method: DELETE'],
    ...['X-Forwarded-Proto: http', 'Connection: close'],
  ];
  const request = `GET ${targets.peer} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
  assert.deepEqual((await sendAndReadToEnd(context, router.port, request, 'alice')).statuses, [200]);
  const { method, target } = router.peer.only();
  assert.deepEqual({ method, target }, { method: 'GET', target: targets.peer });
  assert.equal(router.allRequests().length, 1);
});
