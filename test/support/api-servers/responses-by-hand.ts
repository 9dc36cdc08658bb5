import type { TestContext } from 'node:test';
import type { NodeInboundRequest } from '../../../src/node/exchange/node-inbound.ts';
import type { RouterServerOptions } from '../../../src/node/serving/server.ts';
import { startServer } from '../routers/node-server.ts';

/** A request that waits for its response. */
export interface Handled {
  readonly inbound: NodeInboundRequest;
  readonly respond: (response: Response) => void;
}

/** A server whose responses the test sends in any order. */
export async function serverOf(context: TestContext, options: Partial<RouterServerOptions> = {}) {
  const handled: Handled[] = [];
  const started = await startServer(
    context,
    (_request, { inbound }) => new Promise((respond) => handled.push({ inbound, respond })),
    options,
  );
  return { ...started, handled };
}

/** The bytes of a GET. */
export const get = (target: string, ...lines: string[]): string =>
  [`GET ${target} HTTP/1.1`, 'Host: a', ...lines, '', ''].join('\r\n');
