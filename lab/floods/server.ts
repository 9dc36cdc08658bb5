/**
 * A server that answers every request at once, but for what begins with `/hostile/`, which it gets from an API server
 * whose answers are hostile: `server.ts KIND PORT DIRECTORY UPSTREAM [TREE]`; KIND is `router` or `node`.
 */
import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { Agent, request as httpsRequest } from 'node:https';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { NodeBindings } from '../../src/node/exchange/node-inbound.ts';

const [kind, port = '', directory = '', upstream = '', tree = resolve(import.meta.dirname, '../..')] =
  process.argv.slice(2);
const tls = {
  cert: readFileSync(join(directory, 'serving.crt'), 'utf8'),
  key: readFileSync(join(directory, 'serving.key'), 'utf8'),
};
const ca = readFileSync(join(directory, 'ca.crt'), 'utf8');
if (kind === 'node') {
  const agent = new Agent({ keepAlive: true, ca });
  // As in its documentation.
  createSecureServer({ ...tls, allowHTTP1: true }, (incoming, outgoing) => {
    if (!incoming.url.startsWith('/hostile/')) {
      outgoing.end('fine');
      return;
    }
    const options = { agent, host: '127.0.0.1', port: upstream, path: incoming.url };
    httpsRequest(options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502);
      answer.pipe(outgoing);
    })
      .on('error', () => outgoing.writeHead(502).end())
      .end();
  })
    .on('sessionError', () => {})
    .listen(Number(port), '127.0.0.1', () => console.log('ready'));
} else {
  const { createRouterServer } = await import(pathToFileURL(join(tree, 'src/node/serving/server.ts')).href);
  const { NodeTransport } = await import(
    pathToFileURL(join(tree, 'src/node/destinations/node-transport.ts')).href
  );
  const transport = new NodeTransport({ credentials: { peerCertificateAuthorities: ca } });
  const destination = {
    kind: 'peer',
    id: 'hostile',
    origin: `https://127.0.0.1:${upstream}`,
    serverName: 'localhost',
    trust: { kind: 'peer-ca' },
  };
  const server = createRouterServer({
    tls,
    async fetch(_request: Request, { inbound }: NodeBindings) {
      const { method, target } = inbound;
      if (!target.startsWith('/hostile/')) return new Response('fine');
      const outbound = {
        ...{ destination, method, target, headers: [] },
        ...{ presentFrontProxyCertificate: false, longRunning: false },
      };
      return transport
        .send(outbound, inbound, ({ headers }: { headers: string[] }) => ({ kind: 'forward', headers }))
        .catch(() => new Response(null, { status: 502 }));
    },
    clientCertificateOf: () => ({}),
  });
  await server.listen(Number(port), '127.0.0.1');
  console.log('ready');
}
