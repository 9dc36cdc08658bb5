import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { Agent, fetch } from 'undici';
import type { CertificatePaths } from '../../../demo/certificates.ts';

// A program of its own; its one argument is JSON.
interface Options {
  readonly port: number;
  readonly origin: string;
  readonly serverName: string;
  readonly serving: CertificatePaths;
  readonly client: CertificatePaths;
  readonly authority: string;
}

const { port, origin, serverName, serving, client, authority } = JSON.parse(process.argv[2] ?? '') as Options;
const read = (path: string): string => readFileSync(path, 'utf8');
const dispatcher = new Agent({
  connect: {
    cert: read(client.certificate),
    key: read(client.privateKey),
    ca: read(authority),
    servername: serverName,
  },
  bodyTimeout: 0,
});
const hopByHop = ['connection', 'keep-alive', 'te', 'transfer-encoding', 'upgrade', 'host'];
const callers = new WeakMap<TLSSocket, string>();
const app = new Hono<{ Bindings: { incoming: { socket: TLSSocket } } }>();

app.all('*', async ({ req, env }) => {
  const { pathname, search } = new URL(req.url);
  const headers = new Headers(req.raw.headers);
  for (const name of hopByHop) headers.delete(name);
  for (const name of [...headers.keys()]) if (name.startsWith('x-remote-')) headers.delete(name);
  headers.set('x-remote-user', callerOn(env.incoming.socket));
  headers.append('x-remote-group', 'system:authenticated');
  const hasBody = req.method !== 'GET' && req.method !== 'HEAD';
  const answer = await fetch(origin + pathname + search, {
    method: req.method,
    headers: [...headers],
    body: hasBody ? (req.raw.body as never) : null,
    duplex: 'half',
    dispatcher,
    redirect: 'manual',
  });
  const answerHeaders = new Headers([...answer.headers]);
  for (const name of hopByHop) answerHeaders.delete(name);
  return new Response(answer.body as ReadableStream | null, {
    status: answer.status,
    headers: answerHeaders,
  });
});

/** Asked once for a connection: reading a certificate takes longer than the request. */
function callerOn(socket: TLSSocket): string {
  const known = callers.get(socket);
  if (known !== undefined) return known;
  const caller = String(socket.getPeerCertificate().subject?.CN ?? '');
  callers.set(socket, caller);
  return caller;
}

const tls = {
  cert: read(serving.certificate),
  key: read(serving.privateKey),
  ca: read(authority),
  requestCert: true,
  rejectUnauthorized: false,
  allowHTTP1: true,
  // Only http.Server sets it of its own accord; without it every other answer waits for a delayed ACK.
  noDelay: true,
};
createAdaptorServer({
  fetch: app.fetch,
  createServer: createSecureServer,
  serverOptions: tls,
}).listen(port, '127.0.0.1');
