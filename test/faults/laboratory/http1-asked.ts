import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Asked } from './asked.ts';
import type { SeenRequest } from './record.ts';
import type { Wire } from './wire.ts';

/** A request over HTTP/1.1. */
export class Http1Asked implements Asked {
  readonly protocol = 'http/1.1';
  readonly seen: SeenRequest;
  readonly isWatch: boolean;
  readonly #outgoing: ServerResponse;
  readonly #wire: Wire;

  constructor(seen: SeenRequest, incoming: IncomingMessage, outgoing: ServerResponse, wire: Wire) {
    this.seen = seen;
    this.isWatch = incoming.url?.includes('watch=true') === true;
    this.#outgoing = outgoing;
    this.#wire = wire;
    outgoing.on('error', () => {});
    outgoing.once('close', () => {
      seen.isOver = true;
      if (seen.answer.end === 'open') seen.answer.end = 'broken';
    });
  }

  begin(status: number, headers: Readonly<Record<string, string>> = {}): void {
    this.seen.answer.status = status;
    this.#outgoing.writeHead(status, headers);
    this.#outgoing.flushHeaders();
  }

  send(content: string): void {
    this.seen.answer.content += content;
    this.#outgoing.write(content);
  }

  end(): void {
    this.seen.answer.end = 'whole';
    this.#outgoing.end();
  }

  reset(): void {
    this.cut();
  }

  hangUp(): void {
    this.#broken();
    this.#wire.tls.end();
  }

  cut(): void {
    this.#broken();
    this.#wire.tcp.resetAndDestroy();
  }

  raw(bytes: string | Buffer): void {
    if (this.#wire.tls.writable)
      this.#wire.tls.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  get streamId(): number {
    throw new Error('HTTP/1.1 has no streams');
  }

  #broken(): void {
    if (this.seen.answer.end === 'open') this.seen.answer.end = 'broken';
  }
}
