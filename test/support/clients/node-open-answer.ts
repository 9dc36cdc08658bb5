import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { constants } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import type { TestContext } from 'node:test';
import { type Protocol, servingAuthority } from '../api-servers/node-exchange.ts';
import { http2Client } from './node-clients.ts';

/** An answer in progress at the client's end, whichever protocol it came by. */
interface OpenAnswer {
  readonly status: number;
  readonly body: NodeJS.ReadableStream & { destroyed: boolean };
  /** The client goes away. */
  leave(): void;
  /** How the body ended: `end`, or what broke it off. */
  readonly ended: Promise<string>;
}

type OpenRequest = (
  context: TestContext,
  port: number,
  write?: (body: NodeJS.WritableStream) => void,
) => Promise<OpenAnswer>;

/** Asks and gives the answer as soon as its head is there. With `write` the request is a POST with a body. */
export const openOver: Record<Protocol, OpenRequest> = {
  'http/1.1': async (context, port, write) => {
    const method = write === undefined ? 'GET' : 'POST';
    const ca = servingAuthority.certificate;
    const outgoing = httpsRequest({ host: '127.0.0.1', port, method, agent: false, ca });
    context.after(() => outgoing.destroy());
    if (write === undefined) outgoing.end();
    else {
      outgoing.flushHeaders();
      write(outgoing);
    }
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    const ended = new Promise<string>((resolve) => {
      incoming.once('end', () => resolve('end'));
      incoming.once('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
    });
    outgoing.on('error', () => {});
    return { status: incoming.statusCode ?? 0, body: incoming, leave: () => outgoing.destroy(), ended };
  },
  h2: async (context, port, write) => {
    const session = http2Client(context, port);
    const leaving = new AbortController();
    const { signal } = leaving;
    const stream = session.request({ ':method': write === undefined ? 'GET' : 'POST' }, { signal });
    write?.(stream);
    const [head] = await once(stream, 'response');
    const ended = new Promise<string>((resolve) => {
      stream.once('end', () => {
        if (stream.rstCode === constants.NGHTTP2_NO_ERROR) resolve('end');
      });
      stream.once('error', () => {});
      stream.once('close', () => resolve(`code ${stream.rstCode}`));
    });
    // Resets with CANCEL, as Go's client does; close() would end an upload in good order first.
    const leave = (): void => leaving.abort();
    return { status: Number(head[':status']), body: stream, leave, ended };
  },
};

/** The next piece of a body. */
export async function next(body: NodeJS.ReadableStream): Promise<string> {
  const [chunk] = (await once(body, 'data')) as [Buffer];
  return chunk.toString();
}
