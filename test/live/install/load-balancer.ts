import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../../scripts/harness/wait-until.ts';
import { startLoggedProcess } from '../logged-process.ts';

/** Milliseconds that connections of before a change may go on: a watch is ended then, and its client comes back. */
const oldConnections = 2000;

/** HAProxy as docs/guides/load-balancers.md has it; each change is one of its file, and a reload. */
export interface LoadBalancer {
  /** Addresses that connections go to now. */
  healthy(): Promise<readonly string[]>;
  /** No further connections to it; resolves once those that there are have ended. */
  drain(address: string): Promise<void>;
  /** Puts it back; resolves once it is checked and taken. @param port Default: as before. */
  restore(address: string, port?: number): Promise<void>;
  close(): Promise<void>;
}

export async function startLoadBalancer(
  { host, port, directory }: { readonly host: string; readonly port: number; readonly directory: string },
  addresses: readonly string[],
): Promise<LoadBalancer> {
  const servers = new Map(addresses.map((address) => [address, { port, isOut: false }]));
  const [file, socket] = [join(directory, 'haproxy.cfg'), join(directory, 'haproxy.sock')];
  const write = () =>
    writeFile(
      file,
      `global
  stats socket ${socket}
  hard-stop-after ${oldConnections}ms
defaults
  mode tcp
  timeout connect 1s
  timeout client  1h
  timeout server  1h
  retries 3
  option redispatch 1
frontend kubernetes
  bind ${host}:${port}
  default_backend routers
backend routers
  balance roundrobin
  option httpchk GET /readyz
  http-check expect status 200
  default-server check check-ssl verify none inter 500ms fall 2 rise 1
${[...servers].map(([address, server]) => `  server ${address} ${address}:${server.port}${server.isOut ? ' disabled' : ''}\n`).join('')}`,
    );
  await write();
  const haproxy = await startLoggedProcess({
    name: 'haproxy',
    command: 'haproxy',
    args: ['-W', '-db', '-f', file],
    logFile: join(directory, 'haproxy.log'),
  });

  async function reload(): Promise<void> {
    await write();
    process.kill(haproxy.pid, 'SIGUSR2');
    await sleep(oldConnections + 500);
  }

  async function healthy(): Promise<readonly string[]> {
    const rows = (await ask(socket, 'show stat')).split('\n').map((line) => line.split(','));
    return rows.flatMap(([proxy, server = '', ...row]) =>
      proxy === 'routers' && servers.has(server) && row[15]?.startsWith('UP') ? [server] : [],
    );
  }

  async function change(address: string, to: { port?: number; isOut: boolean }): Promise<void> {
    const server = servers.get(address);
    if (server === undefined) throw new TypeError(`${address} is none of the load balancer's`);
    Object.assign(server, to);
    await reload();
    await waitUntil(
      `the load balancer has taken ${address} ${to.isOut ? 'out' : 'in'}`,
      async () => (await healthy()).includes(address) !== to.isOut,
    );
  }

  await waitUntil('haproxy runs', async () => (await healthy()).length >= 0);
  return {
    healthy,
    drain: (address) => change(address, { isOut: true }),
    restore: (address, to) => change(address, { isOut: false, ...(to !== undefined && { port: to }) }),
    close: async () => {
      await haproxy.stop(oldConnections);
    },
  };
}

function ask(socket: string, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    connect(socket)
      .setEncoding('utf8')
      .on('data', (data) => {
        text += data;
      })
      .on('error', reject)
      .on('close', () => resolve(text))
      .end(`${command}\n`);
  });
}
