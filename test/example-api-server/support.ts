import assert from 'node:assert/strict';
import { type ClientHttp2Session, connect } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { after } from 'node:test';
import {
  type ExampleApiServer,
  type ExampleApiServerOptions,
  ExampleStore,
  type KubernetesVersionName,
  type RequestRecord,
  startExampleApiServer,
} from '../../demo/example-api-server/index.ts';
import type { JsonObject } from '../../demo/example-api-server/kubernetes-object.ts';
import { type Authority, type CertificatePair, createAuthority } from '../support/certificates.ts';

/** Everything a client needs to reach the example servers of a test. */
export interface Pki {
  readonly serving: Authority;
  readonly clients: Authority;
  readonly frontProxies: Authority;
  readonly server: CertificatePair;
  readonly admin: CertificatePair;
  readonly frontProxy: CertificatePair;
}

export async function createPki(): Promise<Pki> {
  const serving = await createAuthority('serving');
  const clients = await createAuthority('clients');
  const frontProxies = await createAuthority('front proxies');
  const names = { dnsNames: ['kubernetes.default.svc'], ipAddresses: ['127.0.0.1'] };
  return {
    serving,
    clients,
    frontProxies,
    server: await serving.issue({ commonName: 'kube-apiserver', ...names, usage: 'server' }),
    admin: await clients.issue({ commonName: 'alice', organizations: ['system:masters'], usage: 'client' }),
    frontProxy: await frontProxies.issue({ commonName: 'front-proxy', usage: 'client' }),
  };
}

export interface TestServer extends ExampleApiServer {
  readonly records: RequestRecord[];
}

/** Starts a server that is closed when the tests of the file are over. */
export async function startServer(
  pki: Pki,
  version: KubernetesVersionName,
  options: Partial<ExampleApiServerOptions> = {},
): Promise<TestServer> {
  const records: RequestRecord[] = [];
  const server = await startExampleApiServer({
    version,
    name: `server-${version}`,
    store: new ExampleStore(),
    tls: { cert: pki.server.chain, key: pki.server.privateKey },
    clientCa: pki.clients.certificate,
    requestHeaderCa: pki.frontProxies.certificate,
    requestHeaderAllowedNames: ['front-proxy'],
    onRequest: (record) => records.push(record),
    ...options,
  });
  after(() => server.close());
  return { ...server, records };
}

export interface TestAnswer {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly bytes: Uint8Array;
  /** The body as JSON; throws when it is none. */
  readonly json: () => JsonObject;
}

export interface TestRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** An object is sent as JSON. */
  readonly body?: JsonObject | string | Uint8Array;
  readonly contentType?: string;
}

export type Client = (path: string, request?: TestRequest) => Promise<TestAnswer>;

/** A client of one server over HTTP/1.1, one connection a request; without `as` it is anonymous. */
export function clientOf(server: ExampleApiServer, pki: Pki, as?: CertificatePair): Client {
  return (path, { method = 'GET', headers = {}, body, contentType } = {}) => {
    const content = bodyOf(body);
    return new Promise((resolve, reject) => {
      const request = httpsRequest(
        `${server.url}${path}`,
        {
          method,
          // Node would resolve dot segments in a URL; the path as it is goes here.
          path,
          ca: pki.serving.certificate,
          ...(as === undefined ? {} : { cert: as.chain, key: as.privateKey }),
          agent: false,
          headers: {
            ...(content === undefined
              ? {}
              : // Node gives a DELETE no length of its own accord.
                { 'content-type': contentType ?? 'application/json', 'content-length': content.length }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const bytes = Buffer.concat(chunks);
            const text = bytes.toString('utf8');
            resolve({
              code: response.statusCode ?? 0,
              headers: response.headers,
              text,
              bytes,
              json: () => JSON.parse(text),
            });
          });
        },
      );
      request.on('error', reject);
      request.end(content);
    });
  };
}

function bodyOf(body: TestRequest['body']): Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body;
  // Never a string: Node would write the head together with it, in UTF-8, and so break byte-string headers.
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

/** An HTTP/2 connection that is closed when the tests of the file are over. */
export function http2ClientOf(server: ExampleApiServer, pki: Pki, as: CertificatePair): ClientHttp2Session {
  const session = connect(server.url, {
    ca: pki.serving.certificate,
    cert: as.chain,
    key: as.privateKey,
  });
  after(() => session.destroy());
  return session;
}

export const configMap = (name: string, data: Readonly<Record<string, string>> = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

/** Code, reason and message of a failure, in one line. */
export function failure(answer: TestAnswer): string {
  const status = answer.json();
  assert.equal(status['kind'], 'Status');
  assert.equal(status['status'], 'Failure');
  assert.equal(status['code'], answer.code);
  return `${answer.code} ${status['reason']} ${status['message']}`;
}

export const pod = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: 'web' } },
  spec: { containers: [{ name: 'main', image: 'nginx' }] },
});
