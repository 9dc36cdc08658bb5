import { type ClientHttp2Stream, constants } from 'node:http2';
import type { OutboundRequest } from '../proxy/transport.ts';
import { requestLines, withoutPseudoHeaders } from './connection-headers.ts';
import { contentLength } from './content-length.ts';
import type { Exchange } from './exchange.ts';
import type { RequestBody } from './request-body.ts';

/** Opens a stream for a request with these header lines; with `endStream` it has no body. */
export type OpenStream = (
  method: string,
  target: string,
  lines: readonly string[],
  endStream: boolean,
) => ClientHttp2Stream;

/**
 * Sends one request over HTTP/2. With node:http2 itself, because undici joins repeated header lines on their
 * way into an HTTP/2 stream: two groups would arrive as one group with a comma in its name.
 *
 * @param onRefused the destination refused the stream without processing it (RFC 9113 section 8.7), as it does
 *   with what crosses its GOAWAY: a request whose body is not streamed may be sent again. Called once at most.
 * @throws when the session takes no more streams; nothing was sent then.
 */
export function exchangeOverHttp2(
  open: OpenStream,
  outbound: OutboundRequest,
  body: RequestBody | undefined,
  exchange: Exchange,
  onRefused: () => void,
): void {
  const { method, target, headers } = outbound;
  const stream = open(method, target, requestLines(headers), body === undefined);
  let expectedLength: number | undefined;
  let receivedLength = 0;
  let needsEndStream = false;
  let hasEndStream = false;
  let canBeSentAgain = body === undefined;

  const giveUp = (): void => {
    if (stream.writableEnded) stream.close(constants.NGHTTP2_CANCEL);
    // close() would first end the body in good order, and a part of it pass for the whole.
    else stream.destroy(new Error('the exchange was given up'));
  };
  exchange.started({ pause: () => stream.pause(), resume: () => stream.resume(), abort: giveUp });

  // From the start: an end that comes in one segment with the head is taken in before 'response' is emitted. (A reset
  // sets `stream.state.remoteClose`, too: it tells nothing.)
  onEndOfData(stream, () => {
    hasEndStream = !stream.closed;
  });
  // Interim heads (1xx) come as 'headers' and are ignored.
  stream.on('response', (_headers, _flags, rawHeaders) => {
    const lines = withoutPseudoHeaders(rawHeaders);
    const status = Number(rawHeaders[rawHeaders.indexOf(':status') + 1]);
    // A 304 and an answer to HEAD name the length of a body that is not there (RFC 9110 section 8.6).
    if (method !== 'HEAD' && status !== 304) expectedLength = contentLength(lines);
    // With a length nghttp2 and the count below notice what is missing.
    needsEndStream = expectedLength === undefined && !stream.endAfterHeaders;
    body?.forget();
    exchange.head(status, '', lines);
  });
  stream.on('data', (chunk: Uint8Array) => {
    receivedLength += chunk.length;
    exchange.data(chunk);
  });
  stream.on('end', () => {
    // Node also ends the readable side of a stream that was reset. NO_ERROR is no fault: a destination may
    // answer in full and then stop the upload with it (RFC 9113 section 8.1).
    const whole = (hasEndStream || !needsEndStream) && stream.rstCode === constants.NGHTTP2_NO_ERROR;
    if (whole && (expectedLength === undefined || expectedLength === receivedLength)) exchange.end();
    else exchange.fail(new Error(`the answer broke off (HTTP/2 code ${stream.rstCode})`));
    // Nobody wants the rest of the upload (RFC 9113 section 8.1); unended, the stream would count against the
    // destination's limit for as long as the connection lives.
    if (body !== undefined && !stream.writableFinished) {
      body.destroy();
      giveUp();
    }
  });
  let failure: Error | undefined;
  stream.on('error', (error) => {
    failure = error;
  });
  stream.on('close', () => {
    body?.destroy();
    const error = failure ?? new Error(`the stream was closed (HTTP/2 code ${stream.rstCode})`);
    if (stream.rstCode !== constants.NGHTTP2_REFUSED_STREAM) exchange.fail(error);
    else if (canBeSentAgain && exchange.restart()) onRefused();
    else exchange.fail(error, true);
  });

  if (body === undefined) return;
  const content = body.takeWhole() ?? body.content;
  if (content instanceof Uint8Array) {
    canBeSentAgain = true;
    stream.end(content);
  } else {
    content.on('error', giveUp);
    content.pipe(stream);
  }
}

/**
 * Calls back when Node takes the end of the data in, whoever has caused it: END_STREAM while the stream is still open,
 * a reset once it is closed. At 'end' the two cannot be told apart any more: a stream that has its END_STREAM is
 * closed, too, before a slow client has taken the last of it; and after a reset with NO_ERROR nothing else shows that
 * the END_STREAM is missing (RFC 9113 section 8.1 has an answer end with one).
 */
function onEndOfData(stream: ClientHttp2Stream, listener: () => void): void {
  const push = stream.push;
  let isOver = false;
  stream.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (chunk === null && !isOver) {
      isOver = true;
      listener();
    }
    return push.call(stream, chunk, encoding);
  };
}
