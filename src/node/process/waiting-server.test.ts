import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';
import { readUntil } from '../../../test/support/tls-client.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { startWaitingServer } from './waiting-server.ts';

test('attack: clients of a router that waits for its start get no more connections than when it serves', async (context) => {
  const check = new ServeOptionsCheck(await serveFiles());
  const config = await check.config({ 'bind-address': ['127.0.0.1'], 'secure-port': ['1'] });
  const anyPort = {
    ...config,
    settings: { ...config.settings, serving: { ...config.settings.serving, port: 0 } },
  };
  // Files for two connections of clients.
  const machine = { usableMemory: 2 ** 30, openFiles: () => 6 };
  const { port, close } = await startWaitingServer(anyPort, silentLogger, machine);
  context.after(close);
  const ask = async () => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
    context.after(() => socket.destroy());
    socket.on('error', () => {});
    socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
    await readUntil(socket, '200 OK');
    return socket;
  };
  const first = await ask();
  await ask();
  const closed = once(first, 'close');
  await ask();
  await closed;
});
