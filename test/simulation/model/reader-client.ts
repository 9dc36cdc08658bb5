import type {
  HttpsRequest,
  HttpsServer,
  OpenServerClient,
  ServerClient,
} from '../../../src/node/destinations/https-client.ts';
import type { Machine } from '../virtual/virtual-time.ts';
import { Connection, type ReplyListener } from './network.ts';
import type { World } from './world.ts';

/** Asks over the modelled network what the sync job wants to know, each request on a connection of its own. */
class ModelledClient implements ServerClient {
  readonly #world: World;
  readonly #machine: Machine;
  readonly #server: HttpsServer;
  readonly #connectTimeout: number;

  constructor(world: World, machine: Machine, server: HttpsServer, connectTimeout: number) {
    this.#world = world;
    this.#machine = machine;
    this.#server = server;
    this.#connectTimeout = connectTimeout;
  }

  async #connect(signal: AbortSignal | undefined): Promise<Connection> {
    const { network, run, access } = this.#world;
    const { origin, certificateAuthorities = '' } = this.#server;
    const listener = network.at(origin);
    const to = listener?.node ?? 'nowhere';
    const there = network.openAt(this.#machine.name, to) - run.now;
    const trip = there + 2 * network.delay(this.#machine.name, to, 'reading');
    const isLate =
      listener === undefined || network.isSilent(listener, this.#machine.name) || trip > this.#connectTimeout;
    await sleep(run, isLate ? this.#connectTimeout : trip, signal);
    if (isLate || network.isSilent(listener, this.#machine.name))
      throw new Error(`not connected within ${this.#connectTimeout} ms`);
    const { machine } = listener;
    if (machine === undefined) throw new Error(`connect ECONNREFUSED ${origin.slice(8)}`);
    if (!access.isIn(certificateAuthorities, listener.authority))
      throw new Error('unable to verify the first certificate');
    return new Connection(network, listener, machine, { client: this.#machine, traffic: 'reading' });
  }

  #send(connection: Connection, asked: HttpsRequest, listener: ReplyListener): { abort(): void } {
    const { path, method = 'GET', headers = [], body, signal } = asked;
    const lines = headers.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text));
    const by = `${this.#machine.name}/sync`;
    const certificate = this.#server.clientCertificate?.certificate;
    const identity =
      certificate === undefined ? [] : ['x-simulated-certificate', this.#world.access.nameIn(certificate)];
    const call = connection.send(
      {
        id: this.#world.run.events,
        method,
        target: path,
        headers: [...lines, ...identity],
        body,
        isFrontProxy: false,
        by,
      },
      listener,
    );
    const abort = (): void => {
      call.abort();
      connection.close();
    };
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
    return { abort };
  }

  async ask(asked: HttpsRequest, { responseTimeout }: { readonly responseTimeout: number }) {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), responseTimeout);
    const signal =
      asked.signal === undefined ? deadline.signal : AbortSignal.any([asked.signal, deadline.signal]);
    const connection = await this.#connect(signal);
    const { promise, resolve, reject } = Promise.withResolvers<{
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly text: string;
    }>();
    signal.addEventListener('abort', () =>
      reject(new Error(`no complete response within ${responseTimeout} ms`)),
    );
    if (signal.aborted) throw signal.reason;
    let head = { status: 0, headers: {} as Readonly<Record<string, string>> };
    let text = '';
    this.#send(
      connection,
      { ...asked, signal },
      {
        head: (status, headers) => {
          head = { status, headers: recordOf(headers) };
        },
        data: (piece) => {
          text += piece;
        },
        end: () => {
          clearTimeout(timer);
          connection.close();
          if (connection.listener.node.startsWith('s')) this.#world.invariants.wasRead(this.#machine);
          resolve({ ...head, text });
        },
        broken: () => reject(new Error('read ECONNRESET')),
      },
    );
    return promise;
  }

  async open(asked: HttpsRequest) {
    const { signal } = asked;
    const connection = await this.#connect(signal);
    const head = Promise.withResolvers<{ status: number; headers: Readonly<Record<string, string>> }>();
    const over = Promise.withResolvers<void>();
    const pieces = new Pieces();
    const failed = (message: string): void => {
      head.reject(new Error(message));
      pieces.fail(new Error(message));
      over.resolve();
    };
    signal?.addEventListener('abort', () => failed('This operation was aborted'), { once: true });
    const { abort } = this.#send(connection, asked, {
      head: (status, headers) => head.resolve({ status, headers: recordOf(headers) }),
      data: (text) => pieces.add(Buffer.from(text)),
      end: () => {
        pieces.end();
        connection.close();
        over.resolve();
      },
      broken: () => failed('read ECONNRESET'),
    });
    return { ...(await head.promise), body: pieces, over: over.promise, discard: abort };
  }

  async servingNames(signal: AbortSignal): Promise<readonly string[]> {
    const connection = await this.#connect(signal);
    const { listener } = connection;
    connection.close();
    return ['kubernetes.default.svc', 'host' in listener ? String(listener.host) : listener.node];
  }

  retire(): void {}

  close(): void {}
}

/** The body of a response: what has arrived, then its end or an error. */
class Pieces implements AsyncIterable<Uint8Array> {
  readonly #arrived: Uint8Array[] = [];
  #error: Error | undefined;
  #isEnded = false;
  #wake = (): void => {};

  add(piece: Uint8Array): void {
    this.#arrived.push(piece);
    this.#wake();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  fail(error: Error): void {
    if (this.#isEnded) return;
    this.#error = error;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const piece = this.#arrived.shift();
      if (piece !== undefined) yield piece;
      else if (this.#error !== undefined) throw this.#error;
      else if (this.#isEnded) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}

function recordOf(headers: readonly string[]): Readonly<Record<string, string>> {
  const pairs: [string, string][] = [];
  for (let index = 0; index + 1 < headers.length; index += 2)
    pairs.push([String(headers[index]).toLowerCase(), String(headers[index + 1])]);
  return Object.fromEntries(pairs);
}

function sleep(run: World['run'], milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => reject(new Error('This operation was aborted'));
    if (signal?.aborted === true) aborted();
    signal?.addEventListener('abort', aborted, { once: true });
    run.after(milliseconds, resolve);
  });
}

/** How the sync job on this machine asks. */
export function clientsOf(world: World, machine: Machine): OpenServerClient {
  return (server, { connectTimeout = 5_000 } = {}) =>
    new ModelledClient(world, machine, server, connectTimeout);
}
