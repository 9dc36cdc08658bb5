import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Requests that may wait on one HTTP/1.1 connection; as many as concurrent HTTP/2 streams. */
const maximumWaiting = 100;

interface Pipeline {
  /** The response in progress, or the last one. */
  current: ServerResponse;
  /** The response to the newest request. */
  last: ServerResponse;
  waiting: number;
}

/**
 * Handles the requests of each HTTP/1.1 connection one after the other, as Go's server does.
 *
 * A client may pipeline requests (RFC 9112 section 9.3.2), and Node emits all of them at once. Then a request after a
 * refused one would be processed although its connection ends, and one connection could have any number of concurrent
 * requests, which the limit of streams prevents in HTTP/2.
 */
export class OneAtATime {
  readonly #pipelines = new WeakMap<Duplex, Pipeline>();

  /** The response in progress on this connection, or the last one. */
  responseOn(socket: Duplex): ServerResponse | undefined {
    return this.#pipelines.get(socket)?.current;
  }

  /** The newest request on this connection. */
  lastRequestOn(socket: Duplex): IncomingMessage | undefined {
    return this.#pipelines.get(socket)?.last.req;
  }

  /** Whether a response on this connection is incomplete. */
  isBusy(socket: Duplex): boolean {
    const pipeline = this.#pipelines.get(socket);
    return pipeline !== undefined && !isOver(pipeline.last);
  }

  /** Calls `handle` after all earlier responses on the connection, if it is still open then. */
  run(incoming: IncomingMessage, outgoing: ServerResponse, handle: () => void): void {
    const { socket } = incoming;
    // After the last response, while the connection is being closed: no response could be sent.
    if (!socket.writable) return;
    const pipeline = this.#pipelines.get(socket);
    if (pipeline === undefined) {
      this.#pipelines.set(socket, { current: outgoing, last: outgoing, waiting: 0 });
      handle();
      return;
    }
    const previous = pipeline.last;
    pipeline.last = outgoing;
    if (isOver(previous)) {
      pipeline.current = outgoing;
      handle();
      return;
    }
    pipeline.waiting++;
    if (pipeline.waiting > maximumWaiting) {
      socket.destroy();
      return;
    }
    previous.once('close', () => {
      pipeline.waiting--;
      // The connection ended with that response: later requests are not processed.
      if (!socket.writable) return;
      pipeline.current = outgoing;
      handle();
    });
  }
}

function isOver(response: ServerResponse): boolean {
  return response.writableFinished || response.destroyed;
}
