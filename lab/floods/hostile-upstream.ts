/** An API server whose answers have no end of lines: `hostile-upstream.ts PORT DIRECTORY`, by HTTP/1.1 over TLS. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer } from 'node:tls';

const [port = '', directory = ''] = process.argv.slice(2);
const tls = {
  cert: readFileSync(join(directory, 'serving.crt')),
  key: readFileSync(join(directory, 'serving.key')),
};
const answers: Readonly<Record<string, string>> = {
  lines: `HTTP/1.1 200 OK\r\nContent-Length: 0\r\n${'x: y\r\n'.repeat(200_000)}\r\n`,
  trailers: `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${'a:\r\n'.repeat(750_000)}\r\n`,
};
createServer({ ...tls, ALPNProtocols: ['http/1.1'] }, (socket) => {
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    const asked = /\/hostile\/(\w+)/.exec(bytes.toString('latin1'))?.[1] ?? '';
    socket.write(answers[asked] ?? 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
  });
}).listen(Number(port), '127.0.0.1', () => console.log('ready'));
