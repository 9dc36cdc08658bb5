import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { pipeline } from 'node:stream';
import { describe, type TestContext, test } from 'node:test';
import {
  credentials,
  dialled,
  frontProxyAuthority,
  type PeerOutgoing,
  type Protocol,
  servingAuthority,
  startPeer,
  startRawPeer,
} from '../../../test/support/api-servers/node-exchange.ts';
import { createAuthority } from '../../../test/support/certificates.ts';
import { askHttp2, http2Client } from '../../../test/support/clients/node-clients.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { listenOnLoopback } from '../../../test/support/listen-on-loopback.ts';
import { startRouter } from '../../../test/support/routers/node-router.ts';
import { failureOf, get, newTransport, send } from '../../../test/support/routers/node-transport.ts';
import type { DestinationTrust } from '../../request/destination.ts';
import { inboundFromRequest } from '../../request/inbound.ts';

test('attack: requests that are given up by the thousand do not end the watch of another client', async (context) => {
  let watch: PeerOutgoing | undefined;
  const peer = await startPeer(context, 'h2', (incoming, outgoing) => {
    outgoing.on('error', () => {});
    outgoing.write('first ');
    if (incoming.url === '/watch') watch = outgoing;
  });
  // All on one connection, as far as its limits allow.
  const transport = newTransport(context, { limits: { spreadAt: 100 } });
  const watching = await send(transport, peer.destination, get(), { target: '/watch' });
  for (let batch = 0; batch < 26; batch++) {
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const response = await send(transport, peer.destination);
        await response.body?.cancel();
      }),
    );
  }
  assert.ok(watch?.stream?.session?.destroyed === false);
  // The resets went out on several connections, each below what its server puts up with.
  assert.equal(peer.connections(), 3);
  const closed = once(watch, 'close');
  watch.end('last');
  assert.equal(await watching.text(), 'first last');
  await closed;
});

const protocols: readonly Protocol[] = ['h2', 'http/1.1'];

describe('credentials that change while a connection is being opened', () => {
  for (const protocol of protocols) {
    test(`leave no request unanswered: ${protocol}`, async (context) => {
      const peer = await startPeer(context, protocol, (_incoming, outgoing) => outgoing.end('answered'));
      const transport = newTransport(context);
      const before = [send(transport, peer.destination), send(transport, peer.destination)];
      // At once: no packet has gone out yet.
      transport.updateCredentials(credentials);
      const after = send(transport, peer.destination);
      for (const response of await Promise.all([...before, after])) {
        assert.equal(await response.text(), 'answered');
      }
    });

    test(`leave no connection behind: ${protocol}`, async (context) => {
      const peer = await startPeer(context, protocol, (_incoming, outgoing) => outgoing.end('answered'));
      const transport = newTransport(context);
      const waiting = send(transport, peer.destination);
      transport.updateCredentials(credentials);
      await (await waiting).text();
      await eventually(() => peer.connections() === dialled[protocol] && peer.openConnections() === 0);
    });
  }
});

test('a write of a server that is given up is reset, also on a connection of earlier credentials: it does not arrive later', async (context) => {
  const arrived = Promise.withResolvers<PeerOutgoing>();
  const peer = await startPeer(context, 'h2', (_incoming, outgoing) => arrived.resolve(outgoing));
  const transport = newTransport(context);
  const write = new Request('https://router/', { method: 'POST', body: 'content' });
  const failed = failureOf(send(transport, peer.destination, inboundFromRequest(write), { method: 'POST' }));
  const { stream } = await arrived.promise;
  const socket = stream?.session?.socket;
  assert.ok(socket !== undefined);
  const reset = new Promise((resolve) => socket.once('error', resolve));
  transport.updateCredentials(credentials);
  transport.endConnections(peer.destination, 'at-once');
  assert.equal((await failed).mayHaveBeenProcessed, true);
  // Closed in order, the connection would give its server what waits in the kernel (tcp(7), tcp_orphan_retries).
  assert.equal(((await reset) as NodeJS.ErrnoException).code, 'ECONNRESET');
});

test('attack: many CA bundles never change what peers are checked against', async (context) => {
  const peer = await startPeer(context, 'h2', () => {});
  const { dialer } = newTransport(context);
  const stranger = await createAuthority('stranger');
  const dial = async (trust: DestinationTrust, presentFrontProxyCertificate: boolean): Promise<void> => {
    const destination = { ...peer.destination, trust };
    const socket = await dialer.dial({ destination, presentFrontProxyCertificate, protocols: ['h2'] });
    socket.destroy();
  };
  for (let index = 0; index < 70; index++) {
    const pem = `${stranger.certificate}# ${index}\n`;
    assert.equal((await failureOf(dial({ kind: 'ca-bundle', pem }, true))).code, 'TLSFailed');
  }
  await dial({ kind: 'peer-ca' }, true);
  await dial({ kind: 'peer-ca' }, false);
  await dial({ kind: 'ca-bundle', pem: servingAuthority.certificate }, false);
});

for (const protocol of ['h2', 'http/1.1'] as const) {
  describe(`a destination on ${protocol}`, () => {
    test('that restarts is reached again, also when it speaks the other protocol then', async (context) => {
      const transport = newTransport(context);
      const peer = await startPeer(context, protocol, (_incoming, outgoing) => outgoing.end('before'));
      assert.equal(await (await send(transport, peer.destination)).text(), 'before');
      await peer.stop();
      // The end of the old connection may be noticed only by asking on it.
      let failure = await failureOf(send(transport, peer.destination));
      if (failure.code === 'ConnectionClosed') failure = await failureOf(send(transport, peer.destination));
      assert.equal(failure.code, 'ConnectFailed');
      const other = protocol === 'h2' ? 'http/1.1' : 'h2';
      await startPeer(context, other, (_incoming, outgoing) => outgoing.end('after'), { port: peer.port });
      assert.equal(await (await send(transport, peer.destination)).text(), 'after');
    });

    test('that is no destination any more is let go, and what is in flight ends first', async (context) => {
      let watch: { end(chunk: string): unknown } | undefined;
      const peer = await startPeer(context, protocol, (incoming, outgoing) => {
        if (incoming.url !== '/watch') return outgoing.end();
        outgoing.write('first ');
        watch = outgoing;
        return undefined;
      });
      const transport = newTransport(context);
      await (await send(transport, peer.destination)).text();
      const watching = await send(transport, peer.destination, get(), { target: '/watch' });
      transport.retainDestinations([]);
      watch?.end('last');
      assert.equal(await watching.text(), 'first last');
      await eventually(() => peer.openConnections() === 0);
    });

    test('that is let go while a request waits for its connection still gets that request', async (context) => {
      const peer = await startPeer(context, protocol, (_incoming, outgoing) => outgoing.end('served'));
      const transport = newTransport(context);
      const sending = send(transport, peer.destination);
      transport.retainDestinations([]);
      assert.equal(await (await sending).text(), 'served');
      await eventually(() => peer.openConnections() === 0);
    });

    test('whose trust has changed is let go, and what else is reached at its address is kept', async (context) => {
      const peer = await startPeer(context, protocol, (_incoming, outgoing) => outgoing.end());
      const transport = newTransport(context);
      const kept = peer.destination;
      const pem = servingAuthority.certificate;
      const before = { ...kept, trust: { kind: 'ca-bundle', pem } } as const;
      const after = { ...kept, trust: { kind: 'ca-bundle', pem: `${pem}\n` } } as const;
      for (const destination of [kept, before]) await (await send(transport, destination)).text();
      await eventually(() => peer.openConnections() === 2);
      transport.retainDestinations([kept, after]);
      await eventually(() => peer.openConnections() === 1);
      await (await send(transport, kept)).text();
      assert.equal(peer.connections(), 2 * dialled[protocol]);
    });

    test('close() ends what is in flight and every connection', async (context) => {
      const arrived = Promise.withResolvers<void>();
      const peer = await startPeer(context, protocol, () => arrived.resolve());
      const transport = newTransport(context);
      const sending = failureOf(send(transport, peer.destination));
      await arrived.promise;
      transport.close();
      await sending;
      assert.equal((await failureOf(send(transport, peer.destination))).mayHaveBeenProcessed, false);
      await eventually(() => peer.openConnections() === 0);
    });

    test('is shown the new certificate after a rotation', async (context) => {
      const peer = await startPeer(context, protocol, (incoming, outgoing) => {
        const socket = 'stream' in incoming ? incoming.stream.session?.socket : incoming.socket;
        outgoing.end(String((socket as import('node:tls').TLSSocket).getPeerCertificate().subject?.CN));
      });
      const transport = newTransport(context);
      assert.equal(await (await send(transport, peer.destination)).text(), 'front-proxy-client');
      const next = await frontProxyAuthority.issue({ commonName: 'next', usage: 'client' });
      const frontProxy = { certificate: next.chain, key: next.privateKey };
      transport.updateCredentials({ ...credentials, frontProxy });
      assert.equal(await (await send(transport, peer.destination)).text(), 'next');
      assert.throws(() =>
        transport.updateCredentials({ ...credentials, frontProxy: { certificate: 'x', key: 'y' } }),
      );
      assert.equal(await (await send(transport, peer.destination)).text(), 'next');
    });
  });
}

test('a connection that nobody came to use is closed with its destination', async (context) => {
  const shaken = Promise.withResolvers<void>();
  const peer = await startRawPeer(context, (socket) => {
    // A peer that does not read does not notice the end of a connection.
    socket.resume();
    shaken.resolve();
  });
  const transport = newTransport(context);
  const leaving = new AbortController();
  const inbound = inboundFromRequest(new Request('https://router/', { signal: leaving.signal }));
  const sending = failureOf(send(transport, peer.destination, inbound));
  await eventually(() => peer.connections() > 0);
  leaving.abort();
  assert.equal((await sending).code, 'ClientGone');
  await shaken.promise;
  transport.retainDestinations([]);
  await eventually(() => peer.openConnections() === 0);
});

test('many streams spread over several HTTP/2 connections, each below its limit', async (context) => {
  const watches: { end(): unknown }[] = [];
  const peer = await startPeer(context, 'h2', (_incoming, outgoing) => {
    outgoing.writeHead(200);
    outgoing.write('x');
    watches.push(outgoing);
  });
  // Only HTTP/2 connections are counted here: none is tried for reads.
  const limits = { spreadAt: 4, streamsPerConnection: 8, connections: 3 };
  const transport = newTransport(context, { limits });
  const responses: Response[] = [];
  for (let index = 0; index < 24; index++) responses.push(await send(transport, peer.destination));
  assert.equal(peer.connections(), 3);
  // There is no room for one more, until one ends.
  const waiting = send(transport, peer.destination);
  // Had it left, it would have arrived long before a read that has to connect first is answered.
  const elsewhere = await startPeer(context, 'h2', (_incoming, outgoing) => outgoing.end());
  await (await send(transport, elsewhere.destination)).text();
  assert.equal(watches.length, 24);
  watches[0]?.end();
  await responses[0]?.text();
  assert.equal((await waiting).status, 200);
  assert.equal(peer.connections(), 3);
});

test('a GOAWAY lets open streams end and sends new ones over a new connection', async (context) => {
  let watch: { end(chunk: string): unknown } | undefined;
  const peer = await startPeer(context, 'h2', (incoming, outgoing) => {
    if (incoming.url !== '/watch') return outgoing.end('new');
    outgoing.write('first ');
    watch = outgoing;
    outgoing.stream?.session?.close();
    return undefined;
  });
  const transport = newTransport(context);
  const watching = await send(transport, peer.destination, get(), { target: '/watch' });
  assert.equal(await (await send(transport, peer.destination)).text(), 'new');
  watch?.end('last');
  assert.equal(await watching.text(), 'first last');
});

describe('a destination that speaks HTTP/1.1 only', () => {
  test('attack: requests that are given up at once open no connection each (CVE-2023-44487)', async (context) => {
    const peer = await startPeer(context, 'http/1.1', (_incoming, outgoing) => outgoing.end('body'));
    const transport = newTransport(context);
    // The destination's protocol is known then.
    await (await send(transport, peer.destination)).text();
    const givenUp = new AbortController();
    const all = Array.from({ length: 200 }, () =>
      send(
        transport,
        peer.destination,
        inboundFromRequest(new Request('https://router/', { signal: givenUp.signal })),
      ),
    );
    givenUp.abort();
    for (const each of await Promise.allSettled(all)) assert.equal(each.status, 'rejected');
    assert.equal(await (await send(transport, peer.destination)).text(), 'body');
    assert.ok(peer.connections() <= 17, `${peer.connections()} connections`);
  });

  test('opens as many connections as there are requests at a time, a few after the other', async (context) => {
    const outgoings: PeerOutgoing[] = [];
    const peer = await startPeer(context, 'http/1.1', (_incoming, outgoing) => {
      outgoings.push(outgoing);
      if (outgoings.length === 60) for (const each of outgoings) each.end('body');
    });
    const transport = newTransport(context);
    const all = Array.from({ length: 60 }, async () => (await send(transport, peer.destination)).text());
    for (const each of await Promise.all(all)) assert.equal(each, 'body');
  });
});

describe('a destination over HTTP/1.1 to which further connections hang', () => {
  /** The first connection says which protocol it is, the second carries requests, and no other gets further than TCP. */
  async function hanging(context: TestContext, connectTimeout: number) {
    const held: PeerOutgoing[] = [];
    const peer = await startPeer(context, 'http/1.1', (incoming, outgoing) => {
      if (incoming.url === '/held') held.push(outgoing);
      else outgoing.end('served');
    });
    let accepted = 0;
    const between = createServer((socket) => {
      accepted++;
      if (accepted > 2) return;
      pipeline(socket, connect(peer.port, '127.0.0.1'), socket, () => {});
    });
    const { port, stop } = await listenOnLoopback(between);
    context.after(stop);
    const destination = { ...peer.destination, origin: `https://127.0.0.1:${port}` };
    const transport = newTransport(context, { connectTimeout });
    const first = send(transport, destination, get(), { target: '/held' });
    await eventually(() => held.length === 1);
    // As many handshakes as may be under way at a time.
    const stuck = Array.from({ length: 16 }, () => failureOf(send(transport, destination)));
    const waiting = Array.from({ length: 4 }, async () => (await send(transport, destination)).text());
    await eventually(() => accepted === 18);
    for (const each of [...stuck, ...waiting]) each.catch(() => {});
    return { accepted: () => accepted, held, first, stuck, waiting };
  }

  test('serves what waits on a connection that becomes free', async (context) => {
    const { held, first, waiting } = await hanging(context, 60_000);
    held[0]?.end('in the end');
    assert.equal(await (await first).text(), 'in the end');
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['served']));
  });

  test('fails what waits with the first connection that fails, so that another server can be asked', async (context) => {
    const { accepted, held, first, stuck, waiting } = await hanging(context, 1_000);
    for (const failure of await Promise.all([...stuck, ...waiting.map(failureOf)])) {
      assert.deepEqual([failure.code, failure.mayHaveBeenProcessed], ['Timeout', false]);
    }
    assert.equal(accepted(), 18);
    held[0]?.end('in the end');
    assert.equal(await (await first).text(), 'in the end');
  });
});

test('attack: beyond the connections over HTTP/1.1 that there is memory for clients are refused, and the router’s own requests are not', async (context) => {
  const held: PeerOutgoing[] = [];
  const peer = await startPeer(context, 'http/1.1', (incoming, outgoing) => {
    if (incoming.url === '/held') held.push(outgoing);
    else outgoing.end('served');
  });
  const router = await startRouter(context, {
    destination: peer.destination,
    transport: { limits: { http1Connections: 2 } },
  });
  const session = http2Client(context, router.port);
  const first = askHttp2(session, { path: '/held' });
  await eventually(() => held.length === 1);
  const second = askHttp2(session, { path: '/held' });
  await eventually(() => held.length === 2);
  assert.equal((await askHttp2(session)).status, 503);
  assert.deepEqual(
    router.failures.map(({ code, mayHaveBeenProcessed }) => [code, mayHaveBeenProcessed]),
    [['ConnectionClosed', false]],
  );
  assert.equal(await (await send(router.transport, peer.destination)).text(), 'served');
  for (const outgoing of held) outgoing.end('in the end');
  for (const response of await Promise.all([first, second])) {
    assert.equal(response.body.toString(), 'in the end');
  }
  // Now one is idle.
  assert.equal((await askHttp2(session)).body.toString(), 'served');
});
