import { Agent, request } from 'undici';

export interface ClientRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Which program the client says that it is. */
  readonly userAgent: string;
  readonly body?: object;
}

export interface ClientResponse {
  readonly status: number;
  readonly body: string;
}

/** Milliseconds. A request that takes longer counts as one without a response. */
const patience = 10_000;

/**
 * One way to the cluster: addresses that are taken in turn, request by request, as a load balancer in front of them
 * does it. One that accepts no connection is passed over. Asked for each request: a balancer can be told others.
 */
export class WayIn {
  readonly #originsNow: () => readonly string[];
  readonly #agent: Agent;
  #turn = 0;

  constructor(
    origins: () => readonly string[],
    tls: { readonly ca: string; readonly cert: string; readonly key: string },
  ) {
    this.#originsNow = origins;
    this.#agent = new Agent({ connect: tls, headersTimeout: patience, bodyTimeout: patience });
  }

  /** @returns `undefined` when there was no whole response */
  async ask({ method, path, userAgent, body }: ClientRequest): Promise<ClientResponse | undefined> {
    this.#turn += 1;
    const origins = this.#originsNow();
    for (let tries = 0; tries < origins.length; tries += 1) {
      const origin = origins[(this.#turn + tries) % origins.length];
      try {
        const response = await request(`${origin}${path}`, {
          dispatcher: this.#agent,
          method,
          headers: {
            'user-agent': userAgent,
            ...(body !== undefined && { 'content-type': contentTypeOf(method) }),
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        return { status: response.statusCode, body: await response.body.text() };
      } catch (error) {
        // A read whose connection broke may be sent again; a write only when it was never sent (RFC 9110, 9.2.2).
        if (method !== 'GET' && !isRefusedConnection(error)) return undefined;
      }
    }
    return undefined;
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

function contentTypeOf(method: ClientRequest['method']): string {
  return method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
}

function isRefusedConnection(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
}
