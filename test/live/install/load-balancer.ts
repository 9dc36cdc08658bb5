import { once } from 'node:events';
import { request } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds between two checks of a node, and for one answer. */
const checkInterval = 500;
const checkTimeout = 2000;
/** Until the next node is tried: one without power refuses nothing. */
const connectTimeout = 1000;

/** TCP, with checks of `/readyz` over HTTPS, as kubeadm's guide for highly available clusters has it. */
export interface LoadBalancer {
  /** Addresses that connections go to now. */
  healthy(): readonly string[];
  /** No further connections to it; resolves once those that there are have ended. */
  drain(address: string): Promise<void>;
  /** Puts it back; resolves once it is checked and taken. */
  restore(address: string): Promise<void>;
  close(): Promise<void>;
}

export async function startLoadBalancer(
  host: string,
  port: number,
  addresses: readonly string[],
): Promise<LoadBalancer> {
  const healthy = new Set<string>();
  const drained = new Set<string>();
  const connections = new Map<string, Set<Socket>>(addresses.map((address) => [address, new Set()]));
  const clients = new Set<Socket>();
  let turn = 0;
  let isClosed = false;

  const destinations = () => addresses.filter((each) => healthy.has(each) && !drained.has(each));

  function forward(client: Socket, left: readonly string[]): void {
    const address = left[turn++ % left.length];
    if (address === undefined) {
      client.destroy();
      return;
    }
    const server = connect({ host: address, port });
    server.setNoDelay(true).on('error', () => {});
    const late = setTimeout(() => server.destroy(), connectTimeout);
    let isConnected = false;
    server.once('connect', () => {
      isConnected = true;
      clearTimeout(late);
      connections.get(address)?.add(client);
      client.pipe(server).pipe(client);
      client.once('close', () => {
        connections.get(address)?.delete(client);
        server.destroy();
      });
    });
    server.once('close', () => {
      if (isConnected) client.destroy();
      else {
        clearTimeout(late);
        forward(
          client,
          left.filter((each) => each !== address),
        );
      }
    });
  }

  const listener = createServer({ pauseOnConnect: true }, (client) => {
    clients.add(client);
    client
      .setNoDelay(true)
      .on('error', () => {})
      .on('close', () => clients.delete(client));
    forward(client, destinations());
  });
  listener.listen(port, host);
  await once(listener, 'listening');

  const checks = addresses.map(async (address) => {
    while (!isClosed) {
      if (await isReady(`https://${address}:${port}/readyz`)) healthy.add(address);
      else healthy.delete(address);
      await sleep(checkInterval);
    }
  });
  const until = async (condition: () => boolean) => {
    while (!isClosed && !condition()) await sleep(50);
  };
  return {
    healthy: destinations,
    async drain(address) {
      drained.add(address);
      // A watch is ended by whoever has it: its client comes back by another node.
      await sleep(1000);
      for (const client of connections.get(address) ?? []) client.destroy();
      await until(() => connections.get(address)?.size === 0);
    },
    async restore(address) {
      drained.delete(address);
      await until(() => healthy.has(address));
    },
    async close() {
      isClosed = true;
      listener.close();
      for (const client of clients) client.destroy();
      await Promise.all(checks);
    },
  };
}

function isReady(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request(
      url,
      { agent: false, rejectUnauthorized: false, signal: AbortSignal.timeout(checkTimeout) },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    asked.once('error', () => resolve(false)).end();
  });
}
