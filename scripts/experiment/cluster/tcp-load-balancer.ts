import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Milliseconds between two health checks of a backend, and for one of them to succeed. */
const checkInterval = 500;

interface TcpLoadBalancer {
  /** `https://host:port` that clients use. */
  readonly origin: string;
  close(): Promise<void>;
}

/**
 * What stands in front of a control plane: connections go round robin to the backends that accept any, and what
 * travels on them is nobody's business here. A backend that refuses one is passed over at once (HAProxy's
 * `option redispatch`) and left out until a health check, a TCP connect, succeeds again.
 */
export async function startTcpLoadBalancer(backends: readonly number[]): Promise<TcpLoadBalancer> {
  const down = new Set<number>();
  const open = new Set<Socket>();
  let turn = 0;

  const inOrder = (): number[] => {
    turn = (turn + 1) % backends.length;
    const rotated = [...backends.slice(turn), ...backends.slice(0, turn)];
    // When all are down, all are tried: the checks may be behind.
    return [...rotated.filter((port) => !down.has(port)), ...rotated.filter((port) => down.has(port))];
  };
  const dial = (client: Socket, candidates: readonly number[]): void => {
    const [port, ...others] = candidates;
    if (port === undefined) {
      client.destroy();
      return;
    }
    const backend = connect(port, '127.0.0.1');
    open.add(backend);
    backend.once('close', () => open.delete(backend));
    const refused = (): void => {
      down.add(port);
      dial(client, others);
    };
    backend.once('error', refused);
    client.once('close', () => backend.destroy());
    backend.once('connect', () => {
      backend.off('error', refused);
      join(client, backend);
    });
  };
  const server = createServer((client) => {
    client.setNoDelay(true);
    open.add(client);
    client.once('close', () => open.delete(client));
    client.on('error', () => client.destroy());
    dial(client, inOrder());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const checks = setInterval(() => {
    for (const backend of backends)
      check(backend, (isUp) => (isUp ? down.delete(backend) : down.add(backend)));
  }, checkInterval);
  return {
    origin: `https://127.0.0.1:${port}`,
    async close() {
      clearInterval(checks);
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  };
}

/** What comes in on either side leaves on the other; when one side is gone the other ends. */
function join(client: Socket, backend: Socket): void {
  backend.setNoDelay(true);
  client.pipe(backend);
  backend.pipe(client);
  // Not resetAndDestroy(): behind an end() it leaves the handle open, and Node turns round for ever at its exit.
  backend.once('error', () => client.destroy());
  backend.once('close', () => client.destroy());
}

function check(port: number, tell: (isUp: boolean) => void): void {
  const socket = connect({ port, host: '127.0.0.1', timeout: checkInterval });
  socket.once('connect', () => {
    tell(true);
    socket.destroy();
  });
  socket.once('timeout', () => socket.destroy(new Error('no connection in time')));
  socket.once('error', () => tell(false));
}
