import type { Protocol } from '../../support/api-servers/api-server-double.ts';
import type { SeenRequest } from './record.ts';

/** A request at a scripted server, and all that can be done about it. */
export interface Asked {
  readonly protocol: Protocol;
  readonly seen: SeenRequest;
  readonly isWatch: boolean;
  /** The head of an answer. Without a length in `headers` HTTP/1.1 announces chunks. */
  begin(status: number, headers?: Readonly<Record<string, string>>): void;
  /** A piece of content. */
  send(content: string): void;
  /** The end, as the framing has it. */
  end(): void;
  /** Breaks off: HTTP/2 resets the stream with `code` (default INTERNAL_ERROR), HTTP/1.1 the connection. */
  reset(code?: number): void;
  /** Closes the connection in good order, and says nothing. */
  hangUp(): void;
  /** Resets the connection under it. */
  cut(): void;
  /** True if the connection under the request has been reset: nobody gets what is said on it. */
  readonly isCut: boolean;
  /** Puts bytes on the connection that no HTTP library would. @param bytes a byte string, or bytes */
  raw(bytes: string | Buffer): void;
  /** HTTP/2: the number of the stream. @throws on HTTP/1.1 */
  readonly streamId: number;
}

/** Behaviour of a server for a request, once its body is in. */
export type Script = (asked: Asked) => void | Promise<void>;

/** As an API server answers: a list, or a watch that goes on. */
export const answerWell: Script = (asked) => {
  asked.begin(200, { 'content-type': 'application/json' });
  if (asked.isWatch) {
    asked.send(event(1));
    return;
  }
  asked.send(`{"answeredBy":"${asked.seen.server}"}`);
  asked.end();
};

/** One watch event. */
export function event(number: number): string {
  return `{"type":"ADDED","object":{"number":${number}}}\n`;
}
