import type { TestContext } from 'node:test';
import { createServer } from 'node:tls';
import { listenOnLoopback } from '../listen-on-loopback.ts';
import { apiServerPair } from './certificates.ts';

export interface LenientBackend {
  readonly port: number;
  /** Method, target and head of everything that it took for a request, in order. */
  readonly heads: string[];
}

/**
 * An HTTP/1.1 server as there are some: it expects no body on anything and takes whatever comes behind a head for
 * the next request. It does obey `Connection: close`. Each answer names the target that it answers.
 */
export async function startLenientBackend(context: TestContext): Promise<LenientBackend> {
  const heads: string[] = [];
  const tls = { cert: apiServerPair.chain, key: apiServerPair.privateKey, ALPNProtocols: ['http/1.1'] };
  const server = createServer(tls, (socket) => {
    socket.on('error', () => {});
    let unread = '';
    let closing = false;
    socket.on('data', (chunk: Buffer) => {
      unread += chunk.toString('latin1');
      for (;;) {
        const head = /[A-Z]+ (\S+) HTTP\/1\.1\r\n[\s\S]*?\r\n\r\n/.exec(unread);
        if (head === null || closing) return;
        unread = unread.slice(head.index + head[0].length);
        // The router's own requests for documents are none of the test's.
        if (head[1] !== '/openapi/v2') heads.push(head[0]);
        closing = /^connection: close\r$/im.test(head[0]);
        const body = JSON.stringify({ answered: head[1] });
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`);
        if (!head[0].startsWith('HEAD ')) socket.write(body);
        if (closing) socket.end();
      }
    });
  });
  const { port, stop } = await listenOnLoopback(server);
  context.after(stop);
  return { port, heads };
}
