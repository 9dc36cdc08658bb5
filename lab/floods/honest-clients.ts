import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';

export interface Credentials {
  readonly certificate: string;
  readonly privateKey: string;
}

/** Outcome of the clients beside an attack. */
export interface HonestCounts {
  readonly tunnels: number;
  readonly tunnelsLost: number;
  readonly watches: number;
  readonly watchesLost: number;
  uploads: number;
  uploadsFailed: number;
  gets: number;
  getsFailed: number;
}

const megabyte = Buffer.alloc(1024 * 1024, 'x');
const watchesOfOneConnection = 25;

/** Tunnels, watches, uploads of 1 MB, and GETs of an admin on connections of their own. */
export class HonestClients {
  readonly #port: number;
  readonly #admin: { readonly cert: Buffer; readonly key: Buffer };
  readonly #tunnels: TLSSocket[] = [];
  readonly #sessions: ClientHttp2Session[] = [];
  readonly #counts = { uploads: 0, uploadsFailed: 0, gets: 0, getsFailed: 0 };
  #watches = 0;
  #watchesLost = 0;
  #isOver = false;

  constructor(port: number, { certificate, privateKey }: Credentials) {
    this.#port = port;
    this.#admin = { cert: readFileSync(certificate), key: readFileSync(privateKey) };
  }

  async open(tunnels: number, watches: number): Promise<void> {
    for (let count = 0; count < tunnels; count++) this.#tunnels.push(await this.#tunnel());
    for (let first = 0; first < watches; first += watchesOfOneConnection) {
      const session = this.#session({});
      this.#sessions.push(session);
      const ofThis = Math.min(watchesOfOneConnection, watches - first);
      for (let count = 0; count < ofThis; count++) this.#watch(session);
    }
    void this.#repeat(async () => {
      const status = await this.#ask({}, 'POST', '/api/v1/namespaces/default/configmaps', megabyte);
      this.#counts.uploads += 1;
      if (status !== 200) this.#counts.uploadsFailed += 1;
    });
    void this.#repeat(async () => {
      const status = await this.#ask(this.#admin, 'GET', '/api/v1/namespaces/default/pods');
      this.#counts.gets += 1;
      if (status !== 200) this.#counts.getsFailed += 1;
      await sleep(50);
    });
  }

  get counts(): HonestCounts {
    return {
      ...this.#counts,
      tunnels: this.#tunnels.length,
      tunnelsLost: this.#tunnels.filter(({ destroyed, readableEnded }) => destroyed || readableEnded).length,
      watches: this.#watches,
      watchesLost: this.#watchesLost,
    };
  }

  close(): void {
    this.#isOver = true;
    for (const each of [...this.#tunnels, ...this.#sessions]) each.destroy();
  }

  async #repeat(work: () => Promise<void>): Promise<void> {
    while (!this.#isOver) await work();
  }

  #session(options: object): ClientHttp2Session {
    const session = connectHttp2(`https://127.0.0.1:${this.#port}`, {
      rejectUnauthorized: false,
      ...options,
    });
    return session.on('error', () => {});
  }

  #watch(session: ClientHttp2Session): void {
    this.#watches += 1;
    const stream = session.request({ ':path': '/api/v1/pods?watch=1', authorization: 'Bearer token' });
    stream.on('error', () => {}).resume();
    stream.once('close', () => {
      if (!this.#isOver) this.#watchesLost += 1;
    });
  }

  async #tunnel(): Promise<TLSSocket> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const socket = connect({
      port: this.#port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
    });
    socket.on('error', () => socket.destroy());
    socket.on('data', () => resolve()).once('close', () => resolve());
    socket.write(
      'GET /api/v1/namespaces/default/pods/a/portforward HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer token\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    );
    await promise;
    return socket;
  }

  /** @returns the status; `undefined` without a whole response within 30 s */
  #ask(options: object, method: string, path: string, body?: Buffer): Promise<number | undefined> {
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    const session = this.#session(options);
    const late = setTimeout(() => session.destroy(), 30_000);
    const headers = { ':method': method, ':path': path, authorization: 'Bearer token' };
    const stream = session.request(headers, { endStream: body === undefined });
    let status: number | undefined;
    stream.on('response', (given) => {
      status = Number(given[':status']);
    });
    stream.on('error', () => {}).on('end', () => resolve(status));
    stream.on('close', () => resolve(undefined)).resume();
    if (body !== undefined) stream.end(body);
    return promise.finally(() => {
      clearTimeout(late);
      session.destroy();
    });
  }
}
