import type { Duplex } from 'node:stream';
import type { AnswerStream } from '../answer.ts';
import { ServerWebSocket } from './websocket.ts';

/**
 * A watch over a WebSocket: one event a message, of text, with the end of line that it has in a response
 * (k8s.io/apiserver pkg/endpoints/handlers/watch.go HandleWS). What the client sends is ignored.
 */
export function watchEventStream(socket: Duplex, head: Buffer): AnswerStream {
  const webSocket = new ServerWebSocket(socket, head, {
    onMessage: () => undefined,
    onClose: () => undefined,
  });
  return {
    write: (event) => webSocket.sendText(event),
    end: () => webSocket.close(1000),
    onClose: (listener) => {
      if (socket.destroyed) listener();
      else socket.once('close', listener);
    },
  };
}
