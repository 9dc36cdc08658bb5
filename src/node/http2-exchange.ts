import type { ClientRequest } from '../http2/client/client-session-options.ts';
import type { ClientStream, StreamListener } from '../http2/client/client-stream.ts';
import { errorCode } from '../http2/frames/frame.ts';
import type { OutboundRequest } from '../proxy/transport.ts';
import type { Exchange } from './exchange.ts';
import type { RequestBody } from './request-body.ts';

/** Opens a stream. @throws when none can be opened; nothing was sent then. */
export type OpenStream = (request: ClientRequest, listener: StreamListener) => ClientStream;

/**
 * Sends one request over HTTP/2.
 *
 * @param onRefused the destination refused the stream without processing it (RFC 9113 section 8.7), as it does
 *   with what crosses its GOAWAY: a request whose body is not streamed may be sent again. Called once at most.
 * @throws when no stream can be opened; nothing was sent then.
 */
export function exchangeOverHttp2(
  open: OpenStream,
  outbound: OutboundRequest,
  body: RequestBody | undefined,
  exchange: Exchange,
  onRefused: () => void,
): void {
  const { method, target, headers } = outbound;
  const content = body === undefined ? undefined : (body.takeWhole() ?? body.content);
  const canBeSentAgain = content === undefined || content instanceof Uint8Array;
  const stream = open(
    { method, target, headers, content },
    {
      head: (status, lines) => {
        body?.forget();
        exchange.head(status, '', lines);
      },
      data: (piece) => exchange.lend(piece),
      end: () => {
        body?.destroy();
        exchange.end();
      },
      fail: (error, refused) => {
        if (!refused) {
          body?.destroy();
          exchange.fail(error);
        } else if (canBeSentAgain && exchange.restart()) {
          onRefused();
        } else {
          body?.destroy();
          exchange.fail(error, true);
        }
      },
    },
  );
  exchange.started({
    pause: () => stream.pause(),
    resume: () => stream.resume(),
    abort: () => stream.reset(errorCode.cancel, new Error('the exchange was given up')),
  });
}
