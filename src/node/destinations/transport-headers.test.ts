import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  destinationAt,
  dialled,
  frontProxyAuthority,
  type PeerIncoming,
  type Protocol,
  servingAuthority,
  startPeer,
  startRawPeer,
} from '../../../test/support/api-servers/node-exchange.ts';
import { askHttp1, askHttp2, http2Client } from '../../../test/support/clients/node-clients.ts';
import { startRouter } from '../../../test/support/routers/node-router.ts';
import { allHeaders, firstHeader } from '../../apimachinery/raw-headers.ts';

const protocols: readonly Protocol[] = ['h2', 'http/1.1'];

for (const protocol of protocols) {
  describe(`towards a destination on ${protocol}`, () => {
    test('the TLS name is the destination’s, whatever Host the client sends', async (context) => {
      const hosts: (string | undefined)[] = [];
      const peer = await startPeer(context, protocol, (incoming, outgoing) => {
        hosts.push(incoming.headers[':authority']?.toString() ?? incoming.headers.host);
        outgoing.end();
      });
      const router = await startRouter(context, {
        destination: peer.destination,
        outbound: { headers: ['host', 'evil.example'] },
      });

      assert.equal((await askHttp1(router.port, { headers: ['x-forwarded-host', 'a'] })).status, 200);
      assert.equal((await askHttp1(router.port, { headers: ['x-forwarded-host', 'b'] })).status, 200);
      assert.deepEqual(hosts, [`127.0.0.1:${peer.port}`, `127.0.0.1:${peer.port}`]);
      assert.equal(peer.connections(), dialled[protocol], 'a new Host must not make a new connection');
    });
  });
}

test('connection headers of a response are removed and never crash the HTTP/2 server', async (context) => {
  const peer = await startRawPeer(context, (socket) => {
    socket.on('data', () => {
      socket.write(
        'HTTP/1.1 200 Fine\r\nConnection: keep-alive, X-Private\r\nKeep-Alive: timeout=5\r\nX-Private: 1\r\n' +
          'Proxy-Connection: keep-alive\r\nTransfer-Encoding: chunked\r\nAudit-ID: 7\r\n\r\n2\r\nok\r\n0\r\n\r\n',
      );
    });
  });
  const router = await startRouter(context, {
    destination: peer.destination,
    // As if hygiene had been forgotten: the process must live all the same.
    onResponseHead: (head) => ({ kind: 'forward', headers: head.headers }),
  });

  const session = http2Client(context, router.port);
  for (let round = 0; round < 2; round++) {
    const response = await askHttp2(session);
    assert.equal(response.status, 200);
    assert.equal(response.body.toString(), 'ok');
    for (const name of ['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding']) {
      assert.equal(firstHeader(response.headers, name), undefined, name);
    }
  }
});

test('both identities over one transport never share a connection', async (context) => {
  const peer = await startPeer(context, 'h2', (incoming, outgoing) => {
    const socket = 'stream' in incoming ? incoming.stream.session?.socket : incoming.socket;
    outgoing.end(String((socket as import('node:tls').TLSSocket).getPeerCertificate().subject?.CN));
  });
  const outbound = { presentFrontProxyCertificate: true };
  const router = await startRouter(context, { destination: peer.destination, outbound });
  const withCertificate = await askHttp1(router.port);
  outbound.presentFrontProxyCertificate = false;
  const without = await askHttp1(router.port);

  assert.equal(withCertificate.body.toString(), 'front-proxy-client');
  assert.equal(without.body.toString(), 'undefined');
  assert.equal(peer.connections(), 2);
});

test('split Cookie lines of HTTP/2 become one', async (context) => {
  let cookies: readonly string[] = [];
  const peer = await startPeer(context, 'http/1.1', (incoming, outgoing) => {
    cookies = allHeaders(incoming.rawHeaders, 'cookie');
    outgoing.end();
  });
  const router = await startRouter(context, { destination: peer.destination });
  await askHttp2(http2Client(context, router.port), { headers: ['cookie', 'a=1', 'cookie', 'b=2'] });
  assert.deepEqual(cookies, ['a=1; b=2']);
});

test('the reason phrase of an HTTP/1.1 response is kept', async (context) => {
  const peer = await startRawPeer(context, (socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 200 All Quiet\r\nContent-Length: 0\r\n\r\n'));
  });
  const router = await startRouter(context, { destination: peer.destination });
  assert.equal((await askHttp1(router.port)).statusMessage, 'All Quiet');
});

describe('trust', () => {
  const handle = (_incoming: PeerIncoming, outgoing: { end(): unknown }): void => {
    outgoing.end();
  };

  test('a serving certificate with another name is refused: TLSFailed, nothing sent', async (context) => {
    let requests = 0;
    const peer = await startPeer(context, 'h2', (_incoming, outgoing) => {
      requests++;
      outgoing.end();
    });
    const router = await startRouter(context, {
      destination: destinationAt(peer.destination.origin, { serverName: 'other.example' }),
    });
    const response = await askHttp1(router.port);
    assert.equal(response.status, 503);
    assert.equal(router.failures[0]?.code, 'TLSFailed');
    assert.equal(router.failures[0]?.mayHaveBeenProcessed, false);
    assert.equal(requests, 0);
  });

  test('a certificate from an authority that is not the peers’ is refused', async (context) => {
    const pair = await frontProxyAuthority.issue({ dnsNames: ['kubernetes.default.svc'], usage: 'server' });
    const peer = await startPeer(context, 'h2', handle, { pair });
    const router = await startRouter(context, { destination: peer.destination });
    assert.equal((await askHttp1(router.port)).status, 503);
    assert.equal(router.failures[0]?.code, 'TLSFailed');
  });

  test('a server with a bundle of its own is checked against that, not the peers’', async (context) => {
    const pair = await frontProxyAuthority.issue({ dnsNames: ['metrics.kube-system.svc'], usage: 'server' });
    const extension = await startPeer(context, 'h2', handle, { pair });
    const { origin } = extension.destination;
    const serverName = 'metrics.kube-system.svc';
    const own = await startRouter(context, {
      destination: destinationAt(origin, {
        serverName,
        trust: { kind: 'ca-bundle', pem: frontProxyAuthority.certificate },
      }),
    });
    assert.equal((await askHttp1(own.port)).status, 200);
    const others = await startRouter(context, {
      destination: destinationAt(origin, {
        serverName,
        trust: { kind: 'ca-bundle', pem: servingAuthority.certificate },
      }),
    });
    assert.equal((await askHttp1(others.port)).status, 503);
    assert.equal(others.failures[0]?.code, 'TLSFailed');
  });

  test('a bundle that is no PEM fails its own destination only', async (context) => {
    const peer = await startPeer(context, 'h2', handle);
    const router = await startRouter(context, {
      destination: destinationAt(peer.destination.origin, { trust: { kind: 'ca-bundle', pem: 'nonsense' } }),
    });
    assert.equal((await askHttp1(router.port)).status, 503);
    assert.equal(router.failures[0]?.code, 'TLSFailed');
  });
});
