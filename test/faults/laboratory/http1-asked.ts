import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Asked } from './asked.ts';
import type { SeenRequest } from './record.ts';
import type { Wire } from './wire.ts';
import { WireAsked } from './wire-asked.ts';

/** A request over HTTP/1.1. */
export class Http1Asked extends WireAsked implements Asked {
  readonly protocol = 'http/1.1';
  readonly isWatch: boolean;
  readonly #outgoing: ServerResponse;

  constructor(seen: SeenRequest, incoming: IncomingMessage, outgoing: ServerResponse, wire: Wire) {
    super(seen, wire, outgoing);
    this.isWatch = incoming.url?.includes('watch=true') === true;
    this.#outgoing = outgoing;
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

  get streamId(): number {
    throw new Error('HTTP/1.1 has no streams');
  }
}
