/** A server that answers every request at once: `server.ts KIND PORT DIRECTORY [TREE]`; KIND is `router` or `node`. */
import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [kind, port = '', directory = '', tree = resolve(import.meta.dirname, '../../..')] =
  process.argv.slice(2);
const tls = {
  cert: readFileSync(join(directory, 'serving.crt')),
  key: readFileSync(join(directory, 'serving.key')),
};
if (kind === 'node') {
  // As in its documentation.
  createSecureServer({ ...tls, allowHTTP1: true }, (_request, response) => response.end('fine'))
    .on('sessionError', () => {})
    .listen(Number(port), '127.0.0.1', () => console.log('ready'));
} else {
  const { createRouterServer } = await import(pathToFileURL(join(tree, 'src/node/server.ts')).href);
  const server = createRouterServer({
    tls,
    fetch: async () => new Response('fine'),
    clientCertificateOf: () => ({}),
  });
  await server.listen(Number(port), '127.0.0.1');
  console.log('ready');
}
