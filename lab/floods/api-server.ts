/** An API server for floods: `api-server.ts CERTIFICATE KEY`. Prints its port. What it does is said in the path. */
import { readFileSync } from 'node:fs';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { Duplex } from 'node:stream';

const [cert = '', key = ''] = process.argv.slice(2);
const server = createSecureServer({
  cert: readFileSync(cert),
  key: readFileSync(key),
  allowHTTP1: true,
  // Responses that nobody takes count in it, and kube-apiserver has no such limit.
  maxSessionMemory: 4_096,
});
const discovery = JSON.stringify({
  kind: 'APIGroupDiscoveryList',
  apiVersion: 'apidiscovery.k8s.io/v2',
  items: Array.from({ length: 1_501 }, (_, index) => ({
    metadata: { name: `group${index}.example.com` },
    versions: [
      {
        version: 'v1',
        resources: Array.from({ length: 3 }, (_each, place) => ({
          resource: `things${place}`,
          responseKind: { group: `group${index}.example.com`, version: 'v1', kind: `Thing${place}` },
          scope: 'Namespaced',
          singularResource: 'thing',
          verbs: ['get', 'list', 'watch', 'create', 'update'],
        })),
      },
    ],
  })),
});
const event = `${JSON.stringify({ type: 'BOOKMARK', object: { kind: 'Pod', apiVersion: 'v1' } })}\n`;
const big = Buffer.alloc(10 * 1024 * 1024, 'x');

function answer(incoming: Http2ServerRequest, outgoing: Http2ServerResponse): void {
  const { url } = incoming;
  outgoing.setHeader('content-type', 'application/json');
  if (url.includes('silent')) return;
  if (url.includes('subjectaccessreviews')) outgoing.writeHead(503).end();
  else if (url.includes('deny')) outgoing.writeHead(403).end('{"kind":"Status"}'.padEnd(400));
  else if (url.includes('watch')) {
    outgoing.write(event);
    const timer = setInterval(() => outgoing.write(event), 1_000);
    outgoing.on('close', () => clearInterval(timer));
  } else if (url.includes('big')) outgoing.end(big);
  else if (url === '/apis') {
    outgoing.setHeader(
      'content-type',
      'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
    );
    outgoing.end(discovery);
  } else outgoing.end(JSON.stringify({ major: '1', minor: '36', gitVersion: 'v1.36.0' }).padEnd(1_000));
}

server.on('request', (incoming: Http2ServerRequest, outgoing: Http2ServerResponse) => {
  incoming.on('end', () => answer(incoming, outgoing)).resume();
});
server.on('upgrade', (incoming: { readonly url: string }, socket: Duplex) => {
  socket.on('error', () => socket.destroy());
  if (incoming.url.includes('silent')) return;
  socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  socket.pipe(socket);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(typeof address === 'object' ? address?.port : '');
});
