import { Readable } from 'node:stream';
import type { ClientRequest, RequestListener } from '../../../packages/http2/index.ts';
import type { ResponseSource } from '../../../packages/http2/shared.ts';
import type { DestinationPool, OpenPool } from '../../../src/node/destinations/node-transport.ts';
import type { TransportCredentials } from '../../../src/node/destinations/tls-dialer.ts';
import { type Destination, TransportError } from '../../../src/request/destination.ts';
import type { Machine } from '../virtual/virtual-time.ts';
import { Connection } from './network.ts';
import type { World } from './world.ts';

interface Queued {
  readonly request: ClientRequest;
  readonly listener: RequestListener;
}

interface PoolEvents {
  readonly onGoAway?: ((origin: string) => void) | undefined;
  readonly onConnectionLost?: ((origin: string) => void) | undefined;
}

/** Milliseconds for a connection: as `dialTimeout` of the router. */
const dialTimeout = 5_000;

/** Milliseconds between two looks whether anything has come, as in `monitorSilence`; at the second a PING is sent. */
const silenceCheck = 15_000;

/** Carries a router's requests to one API server over the modelled network, as its pool of HTTP/2 connections does. */
class ModelledPool implements DestinationPool {
  readonly #world: World;
  readonly #machine: Machine;
  readonly #destination: Destination;
  readonly #isFrontProxy: boolean;
  readonly #events: PoolEvents;
  readonly #authorities: string;
  #queue: Queued[] = [];
  #connection: Connection | undefined;
  readonly #open = new Set<Connection>();
  #isDialling = false;
  #isClosed = false;
  readonly #ended = Promise.withResolvers<void>();

  constructor(
    world: World,
    machine: Machine,
    destination: Destination,
    isFrontProxy: boolean,
    events: PoolEvents,
    credentials: TransportCredentials,
  ) {
    this.#world = world;
    this.#machine = machine;
    this.#destination = destination;
    this.#isFrontProxy = isFrontProxy;
    this.#events = events;
    const { trust } = destination;
    this.#authorities = trust.kind === 'peer-ca' ? credentials.peerCertificateAuthorities : trust.pem;
  }

  submit(request: ClientRequest, listener: RequestListener): void {
    this.#enqueue({ request, listener });
  }

  #enqueue(queued: Queued): void {
    if (this.#isClosed) {
      queued.listener.fail(new Error('the pool is closed'), true);
      return;
    }
    if (this.#connection !== undefined) {
      this.#send(this.#connection, queued);
      return;
    }
    this.#queue.push(queued);
    if (!this.#isDialling) this.#dial();
  }

  #dial(): void {
    this.#isDialling = true;
    const { network, run, access } = this.#world;
    const { origin } = this.#destination;
    const listener = network.at(origin);
    const to = listener?.node ?? 'nowhere';
    const fail = (code: 'ConnectFailed' | 'TLSFailed' | 'Timeout', message: string): void => {
      this.#isDialling = false;
      const waiting = this.#queue;
      this.#queue = [];
      for (const each of waiting)
        each.listener.fail(
          new TransportError(code, `${origin}: ${message}`, { mayHaveBeenProcessed: false }),
          true,
        );
    };
    const there = network.openAt(this.#machine.name, to) - run.now;
    const trip = there + 2 * network.delay(this.#machine.name, to, 'requests');
    if (listener === undefined || network.isSilent(listener, this.#machine.name) || trip > dialTimeout) {
      run.after(dialTimeout, () => fail('Timeout', `not connected within ${dialTimeout} ms`), this.#machine);
      return;
    }
    run.after(
      trip,
      () => {
        const { machine } = listener;
        if (network.isSilent(listener, this.#machine.name)) fail('Timeout', 'no answer');
        else if (machine === undefined) fail('ConnectFailed', 'connection refused');
        else if (!access.isIn(this.#authorities, listener.authority))
          fail('TLSFailed', 'unable to verify the first certificate');
        else this.#connected(machine);
      },
      this.#machine,
    );
  }

  #connected(server: Machine): void {
    const { network } = this.#world;
    const { origin } = this.#destination;
    const listener = network.at(origin);
    this.#isDialling = false;
    // A pool that is closed gives out what waits in it.
    if (listener === undefined || (this.#isClosed && this.#queue.length === 0)) {
      this.#endIfEmpty();
      return;
    }
    let isOrderly = false;
    const connection: Connection = new Connection(network, listener, server, {
      client: this.#machine,
      traffic: 'requests',
      onGoAway: () => {
        isOrderly = true;
        if (this.#connection === connection) this.#connection = undefined;
        this.#events.onGoAway?.(origin);
        if (connection.calls === 0) this.#closeOne(connection);
      },
      onBroken: () => {
        if (this.#connection === connection) this.#connection = undefined;
        this.#open.delete(connection);
        this.#endIfEmpty();
        if (!isOrderly) this.#events.onConnectionLost?.(origin);
      },
    });
    if (!this.#isClosed) this.#connection = connection;
    this.#open.add(connection);
    this.#monitor(connection);
    const waiting = this.#queue;
    this.#queue = [];
    for (const each of waiting) this.#send(connection, each);
  }

  #closeOne(connection: Connection): void {
    connection.close();
    this.#open.delete(connection);
    this.#endIfEmpty();
  }

  #monitor(connection: Connection): void {
    let quiet = 0;
    let { received } = connection;
    const look = (): void => {
      if (!this.#open.has(connection)) return;
      quiet = connection.received === received ? quiet + 1 : 0;
      received = connection.received;
      if (quiet === 2) connection.ping();
      if (quiet >= 3) {
        if (this.#connection === connection) this.#connection = undefined;
        this.#open.delete(connection);
        connection.dropped();
        this.#endIfEmpty();
        this.#events.onConnectionLost?.(this.#destination.origin);
      } else this.#world.run.after(silenceCheck, look, this.#machine);
    };
    this.#world.run.after(silenceCheck, look, this.#machine);
  }

  /** The last request on a connection that takes no more of them is over. */
  #closeIfIdle(connection: Connection): void {
    if (this.#isClosed && connection.calls === 0 && this.#open.has(connection)) this.#closeOne(connection);
  }

  #endIfEmpty(): void {
    if (this.#isClosed && !this.#isDialling && this.#open.size === 0) this.#ended.resolve();
  }

  #send(connection: Connection, queued: Queued): void {
    const { request, listener } = queued;
    const { run } = this.#world;
    let abort = (): void => {};
    let isOver = false;
    const source: ResponseSource = {
      pause() {},
      resume() {},
      abort: (reason: Error) => {
        if (isOver) return;
        isOver = true;
        abort();
        this.#closeIfIdle(connection);
        listener.fail(reason, false);
      },
    };
    const content = request.takeContent?.() ?? request.content;
    try {
      listener.begun(source);
    } catch (error) {
      listener.fail(error instanceof Error ? error : new Error(String(error)), true);
      return;
    }
    const write = (body: string | undefined): void => {
      if (isOver) return;
      const { method, target, headers } = request;
      this.#world.invariants.sent(this.#machine, this.#destination.origin, request);
      const lines = headers.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text));
      const by = this.#machine.name;
      const { abort: aborted } = connection.send(
        { id: run.events, method, target, headers: lines, body, isFrontProxy: this.#isFrontProxy, by },
        {
          head: (status, headers) => listener.head(status, [...headers]),
          data: (text) => listener.data(Buffer.from(text)),
          end: () => {
            isOver = true;
            this.#closeIfIdle(connection);
            listener.end();
          },
          broken: () => {
            isOver = true;
            listener.fail(new Error('the connection was closed'), false);
          },
        },
      );
      abort = aborted;
    };
    if (content === undefined) write(undefined);
    else if (content instanceof Readable) readAll(content, write, () => source.abort(new Error('no body')));
    else write(Buffer.from(content).toString());
  }

  /** Requests in flight go on. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#connection = undefined;
    for (const connection of [...this.#open]) this.#closeIfIdle(connection);
    this.#endIfEmpty();
    return this.#ended.promise;
  }

  destroy(): Promise<void> {
    this.#isClosed = true;
    this.#connection = undefined;
    for (const connection of [...this.#open]) {
      connection.dropped();
      this.#open.delete(connection);
    }
    const waiting = this.#queue;
    this.#queue = [];
    for (const each of waiting) each.listener.fail(new Error('the pool is closed'), true);
    this.#ended.resolve();
    return Promise.resolve();
  }
}

function readAll(content: Readable, done: (text: string) => void, failed: () => void): void {
  const pieces: Buffer[] = [];
  content.on('data', (piece: Buffer) => pieces.push(piece));
  content.on('end', () => done(Buffer.concat(pieces).toString()));
  content.on('error', failed);
}

/** How a router on this machine reaches API servers. */
export function poolsOf(world: World, machine: Machine): OpenPool {
  return (destination, isFrontProxy, events, credentials) =>
    new ModelledPool(world, machine, destination, isFrontProxy, events, credentials);
}
