import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { NodeTransport, type NodeTransportOptions } from '../../../src/node/destinations/node-transport.ts';
import { type Destination, TransportError } from '../../../src/request/destination.ts';
import { inboundFromRequest } from '../../../src/request/inbound.ts';
import { responseOf } from '../../../src/request/transport.ts';
import { credentials, outboundTo } from '../api-servers/node-exchange.ts';

/** A transport of its own, closed at the end of the test. */
export function newTransport(
  context: TestContext,
  options: Partial<NodeTransportOptions> = {},
): NodeTransport {
  const transport = new NodeTransport({ credentials, ...options });
  context.after(() => transport.close());
  return transport;
}

/** A GET that came in by no server. */
export const get = (): ReturnType<typeof inboundFromRequest> =>
  inboundFromRequest(new Request('https://router/'));

/** Sends one request; its answer comes back as it is. */
export async function send(
  transport: NodeTransport,
  destination: Destination,
  inbound = get(),
  overrides: Parameters<typeof outboundTo>[1] = {},
): Promise<Response> {
  const outbound = outboundTo(destination, { method: inbound.method, ...overrides });
  return responseOf(await transport.send(outbound, inbound, ({ headers }) => ({ kind: 'forward', headers })));
}

/** Error that kept a destination from answering. */
export async function failureOf(sending: Promise<unknown>): Promise<TransportError> {
  const error = await sending.then(
    () => assert.fail('an answer came'),
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof TransportError);
  return error;
}
