import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { maximumHeaderBytesOf } from '../exchange/serving-limits.ts';

/** Requests that may wait on one HTTP/1.1 connection; as many as HTTP/2 streams on one of its own. */
const maximumWaiting = 100;

/** Characters of the heads of those, where there is more than one: Node holds them until their turn comes. */
const maximumWaitingHeads = maximumHeaderBytesOf(false);

interface Line {
  /** The answer in progress, or the last one. */
  current: ServerResponse;
  /** The answer to the request that came last. */
  last: ServerResponse;
  waiting: number;
  /** Characters of their heads. */
  waitingHeads: number;
}

/**
 * Handles the requests of each HTTP/1.1 connection one after the other, as Go's server does.
 *
 * A client may send requests before the answers to earlier ones (RFC 9112 section 9.3.2). Node hands them all out
 * at once: what stands behind a request that is refused would be carried out although its connection ends, and a
 * single connection could have any number of requests under way, which HTTP/2's limit of streams prevents there.
 */
export class OneAtATime {
  readonly #lines = new WeakMap<Duplex, Line>();

  /** The answer in progress on this connection, or the last one. */
  answerOn(socket: Duplex): ServerResponse | undefined {
    return this.#lines.get(socket)?.current;
  }

  /** Whether a request on this connection has not been answered in full. */
  isBusy(socket: Duplex): boolean {
    const line = this.#lines.get(socket);
    return line !== undefined && !isOver(line.last);
  }

  /** Calls `handle` once every earlier request on the connection has been answered, if it still takes answers. */
  run(incoming: IncomingMessage, outgoing: ServerResponse, handle: () => void): void {
    const { socket } = incoming;
    // Behind the last answer, before the connection is closed: nobody could be told what became of it.
    if (!socket.writable) return;
    const line = this.#lines.get(socket);
    if (line === undefined) {
      this.#lines.set(socket, { current: outgoing, last: outgoing, waiting: 0, waitingHeads: 0 });
      handle();
      return;
    }
    const previous = line.last;
    line.last = outgoing;
    if (isOver(previous)) {
      line.current = outgoing;
      handle();
      return;
    }
    const head = lengthOfHead(incoming);
    line.waiting++;
    line.waitingHeads += head;
    const isTooMuch = line.waiting > 1 && line.waitingHeads > maximumWaitingHeads;
    if (line.waiting > maximumWaiting || isTooMuch) {
      socket.destroy();
      return;
    }
    previous.once('close', () => {
      line.waiting--;
      line.waitingHeads -= head;
      // An answer that ends its connection ends it for what was sent behind the request, too.
      if (!socket.writable) return;
      line.current = outgoing;
      handle();
    });
  }
}

function lengthOfHead({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((length, part) => length + part.length, url.length);
}

function isOver(answer: ServerResponse): boolean {
  return answer.writableFinished || answer.destroyed;
}
