import type { TestContext } from 'node:test';
import type { NodeInboundRequest } from '../../src/node/exchange/node-inbound.ts';
import type { RouterServerOptions } from '../../src/node/serving/server.ts';
import { startServer } from './node-server.ts';

/** A request that waits for its answer. */
export interface Handled {
  readonly inbound: NodeInboundRequest;
  readonly answer: (response: Response) => void;
}

/** A server whose answers the test gives, in the order it likes. */
export async function serverOf(context: TestContext, options: Partial<RouterServerOptions> = {}) {
  const handled: Handled[] = [];
  const started = await startServer(
    context,
    (_request, { inbound }) => new Promise((answer) => handled.push({ inbound, answer })),
    options,
  );
  return { ...started, handled };
}

/** The bytes of a GET. */
export const get = (target: string, ...lines: string[]): string =>
  [`GET ${target} HTTP/1.1`, 'Host: a', ...lines, '', ''].join('\r\n');
