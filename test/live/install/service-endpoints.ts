import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type TlsCredentials, tlsRequest } from '../tls-request.ts';

/** Milliseconds between two looks. */
const interval = 500;
const path = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes';

/** What the Service `default/kubernetes` led pods to, over time. */
export interface ServiceEndpoints {
  /** @returns in how many looks it had which ports, and at how many addresses of it nobody listened */
  stop(): Promise<{
    readonly looks: number;
    readonly ports: Record<string, number>;
    readonly refused: string;
  }>;
}

/** Looks again and again, and connects to each address as a pod would. */
export function followServiceEndpoints(origin: string, credentials: TlsCredentials): ServiceEndpoints {
  const ports: Record<string, number> = {};
  let [looks, tried, refused, changes] = [0, 0, 0, 0];
  let last = '';
  let isStopped = false;

  async function look(): Promise<void> {
    const { statusCode, text } = await tlsRequest(`${origin}${path}`, credentials);
    if (statusCode !== 200) return;
    const slice = JSON.parse(text) as {
      readonly endpoints: readonly { readonly addresses: readonly string[] }[] | null;
      readonly ports: readonly { readonly port: number }[];
    };
    looks++;
    const named = slice.ports.map(({ port }) => port).join(',');
    ports[named] = (ports[named] ?? 0) + 1;
    if (last !== '' && last !== named) changes++;
    last = named;
    for (const host of (slice.endpoints ?? []).flatMap(({ addresses }) => addresses)) {
      for (const { port } of slice.ports) {
        tried++;
        if (!(await isOpen(host, port))) refused++;
      }
    }
  }

  const running = (async () => {
    while (!isStopped) {
      await look().catch(() => {});
      await sleep(interval);
    }
  })();
  return {
    async stop() {
      isStopped = true;
      await running;
      return { looks, ports, refused: `${refused} of ${tried}, the port changed ${changes} times` };
    },
  };
}

function isOpen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2000 });
    const end = (is: boolean) => () => {
      socket.destroy();
      resolve(is);
    };
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false));
  });
}
