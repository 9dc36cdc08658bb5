import type { TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { eventually } from '../eventually.ts';
import { type Client, routerAt } from '../security/certificates.ts';
import { assertNoSecretIn } from '../security/secrets.ts';
import { openSocket } from './tls-client.ts';

/** An HTTP/1.1 connection on which a test writes what no client library would. */
export class RawHttp1 {
  readonly socket: TLSSocket;
  /** Everything that came, as a byte string. */
  received = '';
  /** The router closed its side, or all of it. */
  ended = false;

  constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.received += chunk.toString('latin1');
    });
    const over = (): void => {
      this.ended = true;
    };
    socket.on('end', over).on('close', over).on('error', over);
  }

  /** @param bytes a byte string: each character is one byte. */
  write(bytes: string): void {
    this.socket.write(Buffer.from(bytes, 'latin1'));
  }

  /** Waits until what came satisfies `condition`. @throws when the connection ends before. */
  async until(condition: (received: string) => boolean): Promise<string> {
    await eventually(() => this.ended || condition(this.received));
    if (!condition(this.received)) throw new Error(`the connection ended after: ${this.received}`);
    return this.received;
  }

  /** Waits until the router has closed the connection; all that came. */
  async untilEnd(): Promise<string> {
    await eventually(() => this.ended);
    return this.received;
  }

  /** The codes of the answers so far. */
  get statuses(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, code]) => Number(code));
  }
}

/** Destroyed at the end of the test; what came is searched for secrets then. */
export async function rawHttp1(
  context: TestContext,
  port: number,
  client: Client = 'nobody',
): Promise<RawHttp1> {
  const raw = new RawHttp1(await openSocket(context, routerAt(port, client)));
  context.after(() => {
    assertNoSecretIn(raw.received, 'an answer');
  });
  return raw;
}

/** Writes `bytes` on a connection of its own and reads until the router closes it. */
export async function sendAndReadToEnd(
  context: TestContext,
  port: number,
  bytes: string,
  client: Client = 'nobody',
): Promise<RawHttp1> {
  const raw = await rawHttp1(context, port, client);
  raw.write(bytes);
  await raw.untilEnd();
  return raw;
}
