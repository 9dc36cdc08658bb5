import { Readable } from 'node:stream';
import {
  type Holding,
  lightRequest,
  type ReceivedRequest,
  type ResponseWriter,
} from '../../../packages/http2/shared.ts';
import { type NodeInboundOptions, NodeInboundRequest } from '../../../src/node/exchange/node-inbound.ts';
import type { ResponseSink } from '../../../src/node/exchange/response-sink.ts';
import { memoryForOthers } from '../../../src/node/exchange/serving-limits.ts';
import type {
  createRouterServer,
  RouterServer,
  RouterServerOptions,
} from '../../../src/node/serving/server.ts';
import type { Machine } from '../virtual/virtual-time.ts';
import type { ArrivedRequest, Listener, Reply } from './network.ts';
import type { World } from './world.ts';

/** A request of a modelled client, as a router's server hands it on. */
class SimulatedInbound extends NodeInboundRequest {
  protected readonly carrier = { socket: { remoteAddress: '10.0.0.200' } } as never;
  readonly held: Holding;
  readonly #request: ArrivedRequest;
  readonly #reply: Reply;
  readonly #content: Readable | undefined;
  #writer: ResponseWriter | undefined;
  #state: 'waiting' | 'responding' | 'sent' | 'gone' = 'waiting';

  constructor(request: ArrivedRequest, reply: Reply, options: NodeInboundOptions) {
    const length =
      request.body === undefined ? [] : ['content-length', String(Buffer.byteLength(request.body))];
    super(request.method, request.target, [...request.headers, ...length], '2.0', options);
    this.#request = request;
    this.#reply = reply;
    this.#content =
      request.body === undefined
        ? undefined
        : Readable.from([Buffer.from(request.body)], { objectMode: false });
    const giveUp = (): void => this.#close('gone');
    const account = memoryForOthers.account({ name: 'client', isVerified: true, connection: { giveUp } });
    this.held = account.content({ giveUp });
    reply.onGone(() => {
      if (this.isClosed) return;
      this.#close('gone');
      this.#writer?.onGone();
    });
  }

  #close(state: 'sent' | 'gone'): void {
    if (this.isClosed) return;
    this.#state = state;
    this.held.end();
    this.held.account.close();
    this.#content?.destroy();
    this.whole.reached();
    this.end.reached();
  }

  get hasContent(): boolean {
    return this.#request.body !== undefined;
  }

  /** As the server for HTTP/2 hands it on. */
  get received(): ReceivedRequest {
    const { method, target, headers } = this.#request;
    return {
      head: { method, target, authority: 'localhost', headers: [...headers] },
      hasContent: this.hasContent,
      content: this.content,
      isResponseSent: false,
      follow: ({ onClosed }) => this.onFinished(onClosed),
    };
  }

  protected get content(): Readable {
    return this.#content ?? Readable.from([]);
  }

  protected get isBodyCutShort(): boolean {
    return this.#state === 'gone';
  }

  get isClosed(): boolean {
    return this.#state === 'sent' || this.#state === 'gone';
  }

  protected get isResponseBegun(): boolean {
    return this.#state !== 'waiting';
  }

  get isResponseSent(): boolean {
    return this.#state === 'sent';
  }

  responseSink(): ResponseSink {
    return this.#sink;
  }

  readonly #sink: ResponseSink = {
    attach: (writer) => {
      this.#writer = writer;
      if (this.isClosed) writer.onGone();
    },
    release: () => {
      this.#writer = undefined;
    },
    respond: (status, headers) => {
      if (this.isClosed) return;
      this.#state = 'responding';
      this.#reply.head(status, [...headers]);
    },
    write: (chunk) => {
      if (!this.isClosed) this.#reply.data(Buffer.from(chunk).toString());
      return true;
    },
    end: () => {
      if (this.isClosed) return;
      this.#reply.end();
      this.#close('sent');
    },
    breakOff: () => {
      if (this.isClosed) return;
      this.#reply.breakOff();
      this.#close('gone');
    },
  };

  /** Writes a response that the router has made itself; one that a sink has begun is left alone. */
  async write(response: Response): Promise<void> {
    const text = await response.text();
    if (this.#state !== 'waiting') return;
    this.#state = 'responding';
    const lines: string[] = [];
    for (const [name, value] of response.headers) if (name !== 'content-length') lines.push(name, value);
    this.#reply.whole(response.status, lines, text);
    this.#close('sent');
  }
}

/** The serving port of a router on the modelled network. */
export class Front implements Listener {
  readonly node: string;
  readonly isSilent = false;
  readonly authority = 'A';
  machine: Machine | undefined;
  readonly #world: World;
  readonly #open = new Set<SimulatedInbound>();
  #options: RouterServerOptions | undefined;

  constructor(world: World, node: string, origin: string) {
    this.#world = world;
    this.node = node;
    world.network.listeners.set(origin, this);
  }

  get isServing(): boolean {
    return this.machine !== undefined;
  }

  /** In place of sockets, for the process on this machine. */
  serverFor(machine: Machine): typeof createRouterServer {
    return (options): RouterServer => {
      const end = async (): Promise<void> => {
        if (this.machine === machine) this.machine = undefined;
      };
      return {
        listen: async (port, host) => {
          this.machine = machine;
          this.#options = options;
          this.#world.run.log(`${this.node} listens`);
          return { port: port || 443, address: host, family: 'IPv4' };
        },
        setSecureContext() {},
        drain: () => void end(),
        close: end,
      };
    };
  }

  /** With its process: what it held for clients is nobody's. */
  ended(): void {
    this.machine = undefined;
    for (const { held } of [...this.#open]) {
      held.end();
      held.account.close();
    }
    this.#open.clear();
  }

  get requests(): number {
    return this.#open.size;
  }

  handle(request: ArrivedRequest, reply: Reply): void {
    const options = this.#options;
    if (options === undefined || this.machine === undefined) return;
    const { access } = this.#world;
    const inbound = new SimulatedInbound(request, reply, {
      clientCertificateOf: () => access.certificateOf(request),
      deadlines: options.deadlines,
    });
    this.#open.add(inbound);
    inbound.onFinished(() => this.#open.delete(inbound));
    void (async () => {
      await inbound.write(await options.fetch(lightRequest(inbound.received, 'localhost'), { inbound }));
    })();
  }
}
