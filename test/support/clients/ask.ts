import { connect } from 'node:http2';
import { askHttp2 } from '../../../packages/http2/test/node-client.ts';
import type { Protocol } from '../api-servers/api-server-double.ts';
import { type Client, clientTls, routerAt } from '../security/certificates.ts';
import { assertNoSecretIn } from '../security/secrets.ts';
import { exchangeHttp1, type WireAnswer as WholeAnswer, type WireRequest } from './tls-client.ts';

interface AskedBy extends WireRequest {
  readonly protocol?: Protocol;
  readonly client?: Client;
}

/** An answer as it stood on the wire; its body as a byte string. */
export interface WireAnswer extends Pick<WholeAnswer, 'status' | 'headers'> {
  readonly body: string;
}

/** Asks the router on a connection of its own. The body of a failure is searched for secrets. */
export async function ask(
  port: number,
  { protocol, client = 'nobody', ...request }: AskedBy = {},
): Promise<WireAnswer> {
  const answer =
    protocol === 'h2'
      ? await overHttp2(port, client, request)
      : await exchangeHttp1(routerAt(port, client), request);
  const body = answer.body.toString('latin1');
  if (answer.status >= 400) assertNoSecretIn(body, `the answer ${body}`);
  return { status: answer.status, headers: answer.headers, body };
}

async function overHttp2(port: number, client: Client, request: WireRequest): Promise<WholeAnswer> {
  const options = {
    servername: 'localhost',
    maxSendHeaderBlockLength: 1024 * 1024,
    // Attackers send twice what should stand once.
    strictSingleValueFields: false,
    ...clientTls(client),
  };
  const session = connect(`https://127.0.0.1:${port}`, options);
  // The stream of the request tells of it.
  session.on('error', () => {});
  try {
    return await askHttp2(session, request);
  } finally {
    session.destroy();
  }
}
