import { headerLines, type RawHeaders } from '../apimachinery/raw-headers.ts';
import type { InboundRequest } from '../request/inbound.ts';
import { responseOf } from '../request/transport.ts';
import { readText } from '../runtime/bytes.ts';
import type { AdmittedRequest, Router } from './admitted-request.ts';
import { forwardBy } from './forward.ts';
import type { MixedVersionProxyOptions } from './options.ts';

export interface AskOptions extends Pick<MixedVersionProxyOptions, 'transport'> {
  readonly router: Pick<Router, 'deliverNow'>;
}

interface ServersResponse {
  readonly status: number;
  /** `undefined`: the body is larger than it may be. */
  readonly text: string | undefined;
  /** The server's own response; else it is the router's: it got none. */
  readonly isServers: boolean;
}

/**
 * Sends a question the way that every request goes, so that a caller sees nothing that the server would not show them. Limits of
 * requests in flight are for clients: own paths have to work just then.
 * @param question with an `inbound` that `questionOf` made
 * @throws what ended it: the signal, or a response that broke off
 */
export async function askInCallersName(
  question: Omit<AdmittedRequest, 'view'>,
  maximumBytes: number,
  { router, transport }: AskOptions,
): Promise<ServersResponse> {
  const outcome = await router.deliverNow(question, forwardBy(transport));
  const response = responseOf(outcome);
  const text = response.body === null ? '' : await readText(response.body, maximumBytes);
  return { status: response.status, text, isServers: outcome.kind === 'response' && outcome.isPassedOn };
}

interface Question {
  readonly target: string;
  readonly accept: string;
  /** JSON that is sent by POST. Default: the question is a GET. */
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
}

/** Header lines that would change the response or take lines of the question away (RFC 9110 section 7.6.1), and cookies. */
const leftOut =
  /^(?:accept|accept-encoding|connection|cookie|if-.*|range|content-.*|transfer-encoding|expect|te|trailer|upgrade)$/i;

/** A question on the connection, and with the credentials, of `inbound`. */
export function questionOf(
  inbound: InboundRequest,
  { target, accept, body, signal }: Question,
): InboundRequest {
  const bytes = body === undefined ? undefined : new TextEncoder().encode(body);
  const headers: string[] = ['accept', accept, 'accept-encoding', 'identity'];
  for (const [name, value] of headerLines(inbound.headers)) {
    if (!leftOut.test(name)) headers.push(name, value);
  }
  if (bytes !== undefined) {
    headers.push('content-type', 'application/json', 'content-length', String(bytes.length));
  }
  return {
    method: bytes === undefined ? 'GET' : 'POST',
    target,
    headers: headers satisfies RawHeaders,
    ...(inbound.httpVersion === undefined ? {} : { httpVersion: inbound.httpVersion }),
    connection: inbound.connection,
    body: () => (bytes === undefined ? null : new Blob([bytes]).stream()),
    rewindBody: () => true,
    signal,
    auditId: inbound.auditId,
  };
}
