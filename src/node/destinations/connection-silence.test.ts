import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { after, before, describe, mock, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type PeerOutgoing, startPeer } from '../../../test/support/api-servers/node-exchange.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { listenOnLoopback } from '../../../test/support/listen-on-loopback.ts';
import { get, newTransport, send } from '../../../test/support/routers/node-transport.ts';
import type { NodeTransport } from './node-transport.ts';

const look = 15_000;

describe('a connection that falls silent', () => {
  // Once for all tests: a timer that is cleared after a reset would take one of the next test with it.
  before(() => mock.timers.enable({ apis: ['setInterval'] }));
  after(() => mock.timers.reset());

  test('a destination with a quiet watch is pinged, and the watch continues', async (context) => {
    const { transport, relay, watches } = await startBehindRelay(context);
    const watching = await send(transport, relay.destination, get(), { target: '/watch' });
    const events = eventsOf(watching);
    assert.equal(await events.next(), 'first ');
    const [watch] = watches;
    const session = watch?.stream?.session;
    assert.ok(watch !== undefined && session !== undefined);
    for (const event of ['second', 'third']) {
      const asked = once(session, 'ping');
      // The first look still finds what came before.
      mock.timers.tick(3 * look);
      await asked;
      // On its way behind the response to the ping: once it is read, that has been read, too.
      watch.write(event);
      assert.equal(await events.next(), event);
    }
    watch.end();
    assert.equal(await events.next(), undefined);
  });

  test('a destination that vanished is noticed although requests are still sent to it', async (context) => {
    const { transport, relay, lost } = await startBehindRelay(context);
    const watching = await send(transport, relay.destination, get(), { target: '/watch' });
    relay.fallSilent();
    let isBroken = false;
    const broken = assert.rejects(watching.text()).then(() => {
      isBroken = true;
    });
    // One look may still find what came before the silence.
    for (let looks = 0; looks < 5 && !isBroken; looks++) {
      const before = relay.swallowed();
      send(transport, relay.destination, get(), { target: '/lost' }).catch(() => {});
      await eventually(() => relay.swallowed() > before);
      mock.timers.tick(look);
      await setImmediate();
    }
    await broken;
    // The destination gets no requests until its /readyz says that it is ready, as when a connection breaks.
    assert.deepEqual(lost, [relay.destination.origin]);
  });
});

/** The content of a watch, piece by piece; `undefined` at its end. */
function eventsOf(watching: Response): { next(): Promise<string | undefined> } {
  const reader = watching.body?.pipeThrough(new TextDecoderStream()).getReader();
  assert.ok(reader !== undefined);
  return { next: async () => (await reader.read()).value };
}

interface Relay {
  readonly destination: Awaited<ReturnType<typeof startPeer>>['destination'];
  /** Drops from now on whatever either side sends, and closes nothing. */
  fallSilent(): void;
  /** Pieces that were dropped. */
  swallowed(): number;
}

/** A destination whose connections run through a relay, and that begins a response without ending it. */
async function startBehindRelay(
  context: TestContext,
): Promise<{ transport: NodeTransport; relay: Relay; watches: PeerOutgoing[]; lost: string[] }> {
  const watches: PeerOutgoing[] = [];
  const peer = await startPeer(context, 'h2', (_incoming, outgoing) => {
    outgoing.on('error', () => {});
    outgoing.write('first ');
    watches.push(outgoing);
  });
  let silent = false;
  let swallowed = 0;
  const server = createServer((near) => {
    const far = connect(peer.port, '127.0.0.1');
    near.on('close', () => far.destroy());
    const pass = (from: Socket, to: Socket): void => {
      from.on('error', () => {});
      from.on('data', (piece) => {
        if (silent) swallowed++;
        else to.write(piece);
      });
    };
    pass(near, far);
    pass(far, near);
  });
  const { port, stop } = await listenOnLoopback(server);
  context.after(stop);
  // All on one connection: it is the one that falls silent.
  const lost: string[] = [];
  const transport = newTransport(context, {
    limits: { spreadAt: 100 },
    onConnectionLost: (origin) => lost.push(origin),
  });
  const relay: Relay = {
    destination: { ...peer.destination, origin: `https://127.0.0.1:${port}` },
    fallSilent: () => {
      silent = true;
    },
    swallowed: () => swallowed,
  };
  return { transport, relay, watches, lost };
}
