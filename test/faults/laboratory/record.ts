import type { Protocol } from '../../support/api-servers/api-server-double.ts';
import type { Client } from '../../support/security/certificates.ts';

/** How far an answer came. */
export type AnswerEnd =
  /** The answer goes on, or never began. */
  | 'open'
  /** The answer ended as its framing announced: last chunk, whole length, END_STREAM. */
  | 'whole'
  /** The answer ended in another way. */
  | 'broken';

/** Answer of a scripted server to a request. */
export interface ServerAnswer {
  /** Status of a head that any HTTP client understands; `undefined` while, or where, there is none. */
  status: number | undefined;
  /** Content in order, as a byte string. */
  content: string;
  end: AnswerEnd;
  /** The server said that it has not processed the request (RFC 9113 section 8.7). */
  refused: boolean;
}

/** A request as it arrived at a scripted server, or at the API server behind another router. */
export interface SeenRequest {
  readonly server: string;
  /** Value that the client put into `x-laboratory-request`. */
  readonly requestId: string;
  /** Protocol of the connection that the request came on. */
  readonly protocol: Protocol;
  readonly method: string;
  readonly target: string;
  /** Values of X-Remote-User, in order. */
  readonly users: readonly string[];
  /** Values of X-Remote-Group, in order. */
  readonly groups: readonly string[];
  /** Values of the reroute mark. */
  readonly marks: readonly string[];
  /** Routers that it has passed, as `Via` names them. */
  readonly via: readonly string[];
  /** Common name of the client certificate of its connection. */
  readonly clientCertificate: string | undefined;
  /** So far, as a byte string. */
  body: string;
  readonly answer: ServerAnswer;
  /** Stream or connection are closed. */
  isOver: boolean;
}

/** Request of a client, and the answer to it. */
export interface ClientAnswer {
  readonly requestId: string;
  readonly protocol: Protocol;
  readonly method: string;
  readonly target: string;
  readonly caller: Client;
  readonly isWatch: boolean;
  /** `undefined` while, or where, there is no answer. */
  status: number | undefined;
  content: string;
  end: AnswerEnd;
  /** The client itself has hung up. */
  gaveUp: boolean;
}

/** A server of the snapshot. */
export interface KnownServer {
  readonly name: string;
  /** `group/version/resource`, as they stand behind `/apis/`. */
  readonly serves: readonly string[];
  /** True if every request to the server is answered as it should be. */
  readonly isHealthy: boolean;
}

/** All that happened in one experiment. */
export interface LaboratoryRecord {
  readonly servers: readonly KnownServer[];
  readonly seen: readonly SeenRequest[];
  readonly answers: readonly ClientAnswer[];
  /** The router was shut down, or told of other versions: either ends watches between two events. */
  readonly endsWatches: boolean;
}

/** Names a request, so that all that is known of it can be put together. */
export const requestIdHeader = 'x-laboratory-request';

/** `group/version/resource` of a target; empty for one that is no resource. */
export function resourceOf(target: string): string {
  return /^\/apis\/([^/?]+\/[^/?]+\/[^/?]+)/.exec(target)?.[1] ?? '';
}
