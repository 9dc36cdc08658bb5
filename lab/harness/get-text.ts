import { type RequestOptions, request } from 'node:https';

/** The certificate of a client, and the authorities that the client believes. */
type ClientTls = Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;

/**
 * A GET on a connection of its own.
 * @param patience milliseconds without a sign of life
 * @throws when there is no whole response
 */
export function getText(
  url: string,
  tls: ClientTls,
  patience = 5_000,
): Promise<{ readonly status: number; readonly text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const outgoing = request(url, { ...tls, agent: false, timeout: patience }, (response) => {
    let text = '';
    response.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    response.on('error', reject);
  });
  outgoing.on('timeout', () => outgoing.destroy(new Error(`no response within ${patience} ms`)));
  outgoing.on('error', reject);
  outgoing.end();
  return promise;
}
