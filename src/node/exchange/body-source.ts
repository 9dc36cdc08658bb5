import { Readable } from 'node:stream';
import type { InboundRequest } from '../../request/inbound.ts';
import { NodeInboundRequest } from './node-inbound.ts';
import { BodySource } from './request-body.ts';

const sources = new WeakMap<InboundRequest, BodySource | 'none'>();

/** `undefined` when the request has no body. */
export function bodySourceOf(inbound: InboundRequest): BodySource | undefined {
  if (inbound instanceof NodeInboundRequest) return inbound.bodySource;
  let source = sources.get(inbound);
  if (source === undefined) {
    const stream = inbound.body();
    source = stream === null ? 'none' : new BodySource(() => Readable.fromWeb(stream));
    sources.set(inbound, source);
  }
  return source === 'none' ? undefined : source;
}
