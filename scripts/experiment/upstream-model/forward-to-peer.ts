import type { OutgoingHttpHeaders } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import type { ExampleUser } from '../../../demo/example-api-server/authentication.ts';

interface PeerForwarding {
  readonly request: Http2ServerRequest;
  readonly response: Http2ServerResponse;
  /** `host:port` of the peer. */
  readonly address: string;
  readonly user: ExampleUser;
  readonly certificateAuthority: string;
  readonly frontProxyClient: { readonly cert: string; readonly key: string };
}

const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Sends the request to the peer and its answer back. On a connection of its own, so that none ever breaks that
 * has been idle: kinder than the original, which shares connections.
 */
export function forwardToPeer(forwarding: PeerForwarding): void {
  const { request, response, address, user, certificateAuthority, frontProxyClient } = forwarding;
  const outgoing = httpsRequest(`https://${address}${request.url}`, {
    method: request.method,
    headers: outgoingHeaders(request, user),
    ca: certificateAuthority,
    ...frontProxyClient,
    servername: 'kubernetes.default.svc',
    agent: false,
  });
  outgoing.on('response', (answer) => {
    const headers = Object.entries(answer.headers).filter(([name]) => !hopByHop.has(name));
    response.writeHead(answer.statusCode ?? 502, Object.fromEntries(headers));
    answer.pipe(response);
    // What breaks off must not look whole.
    answer.on('error', () => request.socket.destroy());
  });
  outgoing.on('error', (error) => {
    if (response.headersSent) return;
    // k8s.io/apimachinery pkg/util/proxy/upgradeaware.go: plain text, no Retry-After, and nobody else is asked.
    response.writeHead(503, { 'content-type': 'text/plain; charset=utf-8' });
    response.end(`error trying to reach service: ${error.message}\n`);
  });
  response.on('close', () => outgoing.destroy());
  request.on('error', () => outgoing.destroy());
  request.pipe(outgoing);
}

function outgoingHeaders({ headers }: Http2ServerRequest, user: ExampleUser): OutgoingHttpHeaders {
  const kept = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || name.startsWith(':') || hopByHop.has(name) ? [] : [[name, value] as const],
  );
  return {
    ...Object.fromEntries(kept),
    'x-kubernetes-peer-proxied': 'true',
    'x-remote-user': user.name,
    'x-remote-group': [...user.groups],
  };
}
