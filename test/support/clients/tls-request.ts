import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { type Agent, request } from 'node:https';
import type { CertificatePaths } from '../../../demo/certificates.ts';

/** Credentials of a client, and the authority of a server's certificate. PEM. */
export interface TlsCredentials {
  readonly ca: string;
  /** Absent for a caller without a certificate. */
  readonly cert?: string;
  readonly key?: string;
}

export interface TlsAnswer {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

interface TlsRequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds until it fails. Default 20 s. */
  readonly timeout?: number;
  /** Keeps connections. Default: one for this request. */
  readonly agent?: Agent | undefined;
}

/** @param client absent: nobody */
export function credentialsOf(clusterCa: string, client?: CertificatePaths): TlsCredentials {
  const ca = readFileSync(clusterCa, 'utf8');
  if (client === undefined) return { ca };
  return {
    ca,
    cert: readFileSync(client.certificate, 'utf8'),
    key: readFileSync(client.privateKey, 'utf8'),
  };
}

/** Makes an object: the object, or its JSON. */
export function postObject(
  url: string,
  object: object | string,
  credentials: TlsCredentials,
  options: Pick<TlsRequestOptions, 'headers' | 'timeout' | 'agent'> = {},
): Promise<TlsAnswer> {
  return tlsRequest(url, credentials, {
    ...options,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...options.headers },
    body: typeof object === 'string' ? object : JSON.stringify(object),
  });
}

/**
 * One request on a connection of its own (unless told otherwise), as a client that has just started makes it: behind a
 * load balancer each may come out somewhere else.
 */
export function tlsRequest(
  url: string,
  credentials: TlsCredentials,
  { method = 'GET', headers = {}, body, timeout = 20_000, agent }: TlsRequestOptions = {},
): Promise<TlsAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      {
        ...credentials,
        method,
        headers,
        agent: agent ?? false,
        servername: 'kubernetes.default.svc',
        signal: AbortSignal.timeout(timeout),
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.once('error', reject);
        incoming.once('end', () =>
          resolve({
            statusCode: incoming.statusCode ?? 0,
            headers: incoming.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}
