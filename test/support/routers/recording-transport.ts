import type { InboundRequest } from '../../../src/request/inbound.ts';
import {
  type OnResponseHead,
  type OutboundRequest,
  passedOnResponse,
  type Transport,
} from '../../../src/request/transport.ts';

/** A transport that keeps what was sent and answers with what it is told to. */
export interface RecordingTransport extends Transport {
  readonly sent: OutboundRequest[];
}

/** @param answer what a destination answers, or throws; default: 200 naming the destination. */
export function recordingTransport(
  answer: (outbound: OutboundRequest) => Response | Promise<Response> = (outbound) =>
    Response.json({ answeredBy: outbound.destination.id }),
): RecordingTransport {
  const sent: OutboundRequest[] = [];
  return {
    sent,
    async send(outbound: OutboundRequest, inbound: InboundRequest, onResponseHead: OnResponseHead) {
      sent.push(outbound);
      const response = await answer(outbound);
      // As a destination that answers has been sent it.
      await inbound.body()?.cancel();
      const disposed = onResponseHead({
        status: response.status,
        headers: [...response.headers].flat(),
      });
      const disposition =
        disposed.kind === 'read'
          ? disposed.judge(new Uint8Array(await response.clone().arrayBuffer()))
          : disposed;
      return disposition.kind === 'replace' ? disposition.outcome : passedOnResponse(response);
    },
  };
}
