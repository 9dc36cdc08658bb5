import type { Machine, VirtualRun } from '../virtual/virtual-time.ts';

export interface Link {
  /** Name of one end, or `*`. */
  readonly between: readonly [string, string];
  readonly from: number;
  readonly until: number;
}

interface SlowLink extends Link {
  /** Milliseconds that each message takes longer, at most. */
  readonly delay: number;
  /** Only what is read for the router's knowledge, not clients' requests. */
  readonly reading: boolean;
}

/** Which messages: of clients' requests, or of what the sync job reads and pushes. */
export type Traffic = 'requests' | 'reading';

/** A message of an earlier moment is never overtaken by a later one of the same direction of a connection. */
export interface Direction {
  last: number;
}

/** Somebody who listens at an address. */
export interface Listener {
  readonly node: string;
  /** The process that listens now; `undefined`: connections are refused. */
  readonly machine: Machine | undefined;
  /** The host does not answer at all: connections hang. */
  readonly isSilent: boolean;
  /** Which authority has issued its serving certificate. */
  readonly authority: string;
  handle(request: ArrivedRequest, reply: Reply): void;
}

export interface ArrivedRequest {
  readonly id: number;
  readonly method: string;
  readonly target: string;
  /** Name, value; names in lower case. */
  readonly headers: readonly string[];
  readonly body: string | undefined;
  /** With the front-proxy certificate. */
  readonly isFrontProxy: boolean;
  /** Sender of the request, for the log. */
  readonly by: string;
}

/** The response, at the end of who responds. */
export interface Reply {
  /** The asking side is gone. */
  readonly isOver: boolean;
  onGone(listener: () => void): void;
  head(status: number, headers: readonly string[]): void;
  data(text: string): void;
  end(): void;
  /** Head, content and end in one message, unless the connection breaks within it. */
  whole(status: number, headers: readonly string[], body: string): void;
  /** The asking side must not take a part for the whole: the stream is reset. */
  breakOff(): void;
}

/** The response, at the end of who asked. */
export interface ReplyListener {
  head(status: number, headers: readonly string[]): void;
  data(text: string): void;
  end(): void;
  broken(): void;
}

/** Delays, loss and partitions between named nodes, and what listens at which origin. */
export class Network {
  readonly run: VirtualRun;
  readonly listeners = new Map<string, Listener>();
  readonly cuts: Link[] = [];
  readonly slow: SlowLink[] = [];
  readonly connections = new Set<Connection>();
  readonly #names = new Map<string, Map<string, Readonly<Record<Traffic, string>>>>();
  messages = 0;

  constructor(run: VirtualRun) {
    this.run = run;
  }

  at(origin: string): Listener | undefined {
    return this.listeners.get(origin);
  }

  /** When messages between the two get through again; now, unless a partition is on. */
  openAt(one: string, other: string): number {
    let at = this.run.now;
    for (const cut of this.cuts) {
      if (cut.from > at || at >= cut.until || !isBetween(cut, one, other)) continue;
      // A node that is cut off for long has no quorum of etcd: its API server responds to nobody.
      if (!areOnOneNode(one, other) || cut.until - cut.from > longCut) at = cut.until;
    }
    return at;
  }

  delay(from: string, to: string, traffic: Traffic): number {
    this.messages++;
    const { draws, now } = this.run;
    const name = this.#nameOf(from, to, traffic);
    let delay = 0.2 + 2.5 * draws.next(name);
    if (draws.chance(name, 0.01)) delay *= 20;
    for (const link of this.slow) {
      const isOn =
        link.from <= now && now < link.until && isBetween(link, from, to) && !areOnOneNode(from, to);
      if (isOn && link.reading === (traffic === 'reading')) delay += link.delay * draws.next(name);
    }
    return delay;
  }

  #nameOf(from: string, to: string, traffic: Traffic): string {
    const byTarget = this.#names.get(from) ?? new Map<string, Readonly<Record<Traffic, string>>>();
    this.#names.set(from, byTarget);
    const names = byTarget.get(to) ?? {
      requests: `${from}>${to}/requests`,
      reading: `${from}>${to}/reading`,
    };
    byTarget.set(to, names);
    return names[traffic];
  }

  /** One message. What is under way when a partition begins arrives after it, as TCP sends it again. */
  deliver(
    from: string,
    to: string,
    traffic: Traffic,
    direction: Direction,
    on: Machine | undefined,
    arrive: () => void,
  ): void {
    const at = Math.max(direction.last, this.openAt(from, to) + this.delay(from, to, traffic));
    direction.last = at;
    this.run.at(at, arrive, on);
  }

  /** True of a host without power, for everybody but who is on it. */
  isSilent({ isSilent, node }: Listener, from: string): boolean {
    return isSilent && !areOnOneNode(from, node);
  }

  /**
   * The end of a process closes its connections: the other ends see it, unless they are cut off.
   * @param isSeen of whom the end is seen. Default: of all
   */
  breakAll(machine: Machine, isSeen: (connection: Connection) => boolean = () => true): void {
    for (const connection of [...this.connections].filter(isSeen)) {
      if (connection.client === machine) connection.clientGone();
      else if (connection.server === machine) connection.broken();
    }
  }

  /** Between two nodes, as by a router on the way that has lost its state. */
  breakBetween(one: string, other: string): void {
    for (const connection of [...this.connections]) {
      const { client, listener } = connection;
      if (isBetween({ between: [one, other] }, client.name, listener.node)) connection.broken();
    }
  }
}

/** Milliseconds: partitions that last longer. */
const longCut = 10_000;

/** True of a router and the API server beside it: nothing lies between them, and they lose power together. */
export function areOnOneNode(one: string, other: string): boolean {
  return /^[rs]\d$/.test(one) && /^[rs]\d$/.test(other) && one.slice(1) === other.slice(1);
}

function isBetween({ between: [one, other] }: Pick<Link, 'between'>, from: string, to: string): boolean {
  const is = (pattern: string, name: string): boolean => pattern === '*' || pattern === name;
  return (is(one, from) && is(other, to)) || (is(one, to) && is(other, from));
}

interface ConnectionOptions {
  readonly client: Machine;
  readonly traffic: Traffic;
  /** Called at the client. @param isOrderly the server has said before that it ends */
  readonly onBroken?: (() => void) | undefined;
  readonly onGoAway?: (() => void) | undefined;
}

/** A connection to a process: requests on it, and what becomes of them when it breaks. */
export class Connection {
  readonly client: Machine;
  readonly server: Machine;
  readonly listener: Listener;
  readonly #network: Network;
  readonly #options: ConnectionOptions;
  readonly #there: Direction = { last: 0 };
  readonly #back: Direction = { last: 0 };
  readonly #calls = new Set<Call>();
  #resetAt = Number.POSITIVE_INFINITY;
  /** Messages that have come to the client. */
  received = 0;
  isOpen = true;

  constructor(network: Network, listener: Listener, server: Machine, options: ConnectionOptions) {
    this.#network = network;
    this.#options = options;
    this.client = options.client;
    this.server = server;
    this.listener = listener;
    network.connections.add(this);
  }

  get calls(): number {
    return this.#calls.size;
  }

  send(request: ArrivedRequest, listener: ReplyListener): { abort(): void } {
    const call = new Call(this, listener);
    if (!this.isOpen) {
      // A sender that writes to the connection hears of its end only now.
      call.gone();
      this.toClient(() => call.broken());
      return {
        abort() {
          call.isAborted = true;
        },
      };
    }
    this.#calls.add(call);
    const leavesAt = this.#network.openAt(this.client.name, this.listener.node);
    this.toServer(() => {
      // Bytes that a partition has kept in the send queue are gone with a reset (tcp(7), SO_LINGER of 0 seconds).
      if (call.isAborted || leavesAt > this.#resetAt) return;
      this.listener.handle(request, call);
    });
    return {
      abort: () => {
        if (call.isAborted || !this.#calls.has(call)) return;
        call.isAborted = true;
        this.#calls.delete(call);
        this.toServer(() => call.gone());
      },
    };
  }

  toServer(arrive: () => void): void {
    const { traffic } = this.#options;
    this.#network.deliver(
      this.client.name,
      this.listener.node,
      traffic,
      this.#there,
      this.server,
      () => this.isOpen && arrive(),
    );
  }

  toClient(arrive: () => void): void {
    const { traffic } = this.#options;
    this.#network.deliver(this.listener.node, this.client.name, traffic, this.#back, this.client, () => {
      this.received++;
      arrive();
    });
  }

  /** A server that is there acknowledges it (RFC 9113 section 6.7). */
  ping(): void {
    this.toServer(() => this.toClient(() => {}));
  }

  ended(call: Call): void {
    this.#calls.delete(call);
  }

  /** GOAWAY: no new requests; those in flight go on. */
  goAway(): void {
    this.toClient(() => this.#options.onGoAway?.());
  }

  /** The server's end is gone, or something between: the client sees a reset. */
  broken(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#network.connections.delete(this);
    const calls = [...this.#calls];
    for (const call of calls) {
      call.isTorn = this.#network.run.draws.chance(`${this.client.name}/torn`, 0.5);
      call.gone();
    }
    this.toClient(() => {
      this.#options.onBroken?.();
      for (const call of calls) call.broken();
    });
  }

  /** A reset by its client: its calls fail there, and the server hears of it. */
  dropped(): void {
    const calls = [...this.#calls];
    this.#resetAt = this.#network.run.now;
    this.clientGone();
    for (const call of calls) call.broken();
  }

  /** In order, as the kernel does it for a process that ends: what is in the send queue arrives first, however late. */
  clientGone(): void {
    if (!this.isOpen) return;
    // Nobody is told of the end of a connection on which nothing happens: that would be half of all messages.
    if (this.#calls.size === 0) {
      this.isOpen = false;
      this.#network.connections.delete(this);
      return;
    }
    this.toServer(() => {
      for (const call of [...this.#calls]) call.gone();
      this.isOpen = false;
    });
    this.#network.connections.delete(this);
  }

  /** By its client, in order. */
  close(): void {
    this.clientGone();
  }
}

/** One request and its response: the server's end of it. */
class Call implements Reply {
  readonly #connection: Connection;
  readonly #listener: ReplyListener;
  readonly #whenGone: (() => void)[] = [];
  #isGone = false;
  #isEnded = false;
  isAborted = false;
  /** True if only a part arrives of a whole response that is under way. */
  isTorn = false;

  constructor(connection: Connection, listener: ReplyListener) {
    this.#connection = connection;
    this.#listener = listener;
  }

  get isOver(): boolean {
    return this.#isGone;
  }

  onGone(listener: () => void): void {
    if (this.#isGone) listener();
    else this.#whenGone.push(listener);
  }

  gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    for (const listener of this.#whenGone) listener();
  }

  #send(tell: () => void): void {
    if (this.#isGone) return;
    this.#connection.toClient(() => {
      if (!this.isAborted) tell();
    });
  }

  head(status: number, headers: readonly string[]): void {
    this.#send(() => this.#listener.head(status, headers));
  }

  data(text: string): void {
    this.#send(() => this.#listener.data(text));
  }

  end(): void {
    this.#send(() => {
      this.#isEnded = true;
      this.#connection.ended(this);
      this.#listener.end();
    });
  }

  breakOff(): void {
    this.#send(() => {
      this.#connection.ended(this);
      this.broken();
    });
  }

  whole(status: number, headers: readonly string[], body: string): void {
    const lines = [...headers, 'content-length', String(Buffer.byteLength(body))];
    this.#send(() => {
      this.#listener.head(status, lines);
      if (this.isTorn) {
        this.#listener.data(body.slice(0, body.length / 2));
        return;
      }
      if (body !== '') this.#listener.data(body);
      this.#isEnded = true;
      this.#connection.ended(this);
      this.#listener.end();
    });
  }

  broken(): void {
    if (this.isAborted || this.#isEnded) return;
    this.#isEnded = true;
    this.#listener.broken();
  }
}
