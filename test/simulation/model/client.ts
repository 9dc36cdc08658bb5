import { type ClientRequest, type ClientResponse, requestHeader } from '../invariants/invariants.ts';
import type { Machine } from '../virtual/virtual-time.ts';
import { Connection, type ReplyListener } from './network.ts';
import type { RouterNode } from './router-node.ts';
import type { World } from './world.ts';

export interface Asking {
  readonly router: RouterNode;
  readonly method?: string;
  readonly target: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Default: alice, by her certificate. bob has a token. */
  readonly user?: string;
  readonly headers?: readonly string[];
  readonly isForewarned?: boolean;
}

/** The beginning of the message of a Status, which says where it comes from. */
function reasonIn(text: string): string {
  return (/"message":"([^"]{0,60})/.exec(text)?.[1] ?? 'no Status').trim();
}

/** Clients that ask through routers: one computer with all of them. */
export class Clients {
  readonly world: World;
  readonly machine: Machine;
  #last = 0;

  constructor(world: World) {
    this.world = world;
    this.machine = world.newMachine('client');
  }

  /** Opens a request. @returns `undefined`: nobody listens there, or not any more */
  send(
    asking: Asking,
    listener: ReplyListener,
  ): { readonly request: ClientRequest; abort(): void } | undefined {
    const {
      router,
      method = 'GET',
      target,
      body,
      user = 'alice',
      headers = [],
      isForewarned = false,
    } = asking;
    const { world, machine } = this;
    const { network, run } = world;
    const server = router.front.machine;
    if (server === undefined) return undefined;
    this.#last++;
    const request: ClientRequest = {
      id: this.#last,
      router: router.node,
      user,
      method,
      target,
      sentAt: run.now,
      isForewarned,
    };
    world.invariants.asked(request);
    const connection = new Connection(network, router.front, server, {
      client: machine,
      traffic: 'requests',
    });
    const credentials =
      user === 'bob' ? ['authorization', 'Bearer user-bob'] : ['x-simulated-certificate', user];
    const { abort } = connection.send(
      {
        id: request.id,
        method,
        target,
        headers: [
          ...['host', 'kubernetes', requestHeader, String(request.id), ...credentials, ...headers],
          ...(body === undefined ? [] : ['content-type', 'application/json']),
        ],
        body: body === undefined ? undefined : JSON.stringify(body),
        isFrontProxy: false,
        by: 'client',
      },
      {
        head: listener.head,
        data: listener.data,
        end: () => {
          connection.close();
          listener.end();
        },
        broken: () => {
          connection.close();
          listener.broken();
        },
      },
    );
    return {
      request,
      abort: () => {
        abort();
        connection.close();
      },
    };
  }

  /** @returns `undefined`: nobody listens, or the connection broke */
  ask(asking: Asking): Promise<ClientResponse | undefined> {
    const { invariants, run } = this.world;
    return new Promise((resolve) => {
      let head: Pick<ClientResponse, 'status' | 'headers'> = { status: 0, headers: [] };
      let text = '';
      const sent = this.send(asking, {
        head: (status, headers) => {
          head = {
            status,
            headers: headers.map((line, index) => (index % 2 === 0 ? line.toLowerCase() : line)),
          };
        },
        data: (piece) => {
          text += piece;
        },
        end: () => {
          if (sent === undefined) return;
          const response = { ...head, text };
          run.log(
            `client ${sent.request.method} ${sent.request.target} through ${sent.request.router}: ${head.status}`,
          );
          invariants.count(`${head.status}`);
          if (head.status === 503) invariants.count(`503: ${reasonIn(text)}`);
          invariants.responded(sent.request, response);
          resolve(response);
        },
        broken: () => {
          if (sent === undefined) return;
          run.log(
            `client ${sent.request.method} ${sent.request.target} through ${sent.request.router}: broken`,
          );
          invariants.count('broken');
          invariants.broken(sent.request);
          resolve(undefined);
        },
      });
      if (sent === undefined) resolve(undefined);
    });
  }

  /** Something to be done again and again, at moments of its own. */
  repeat(name: string, interval: () => number, task: () => void | Promise<void>): void {
    const { run } = this.world;
    const next = (): void => {
      const wait = -Math.log(1 - run.draws.next(`${name}/when`)) * interval();
      run.after(Math.min(wait, 3_000), next, this.machine);
      void task();
    };
    run.after(1_300 + run.draws.next(`${name}/when`) * 500, next, this.machine);
  }

  pickRouter(name: string): RouterNode {
    return this.world.run.draws.pick(name, this.world.routers);
  }
}
