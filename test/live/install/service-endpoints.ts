import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type TlsCredentials, tlsRequest } from '../tls-request.ts';

/** Milliseconds between two looks. */
const interval = 500;
const path = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes';

/** What the Service `default/kubernetes` led pods to, over time. */
export interface ServiceEndpoints {
  /** @returns each state that it had, in order: where it led to, for how many looks, and how often nobody listened */
  stop(): Promise<readonly string[]>;
}

/** Looks again and again, and connects to each address as a pod would. */
export function followServiceEndpoints(origin: string, credentials: TlsCredentials): ServiceEndpoints {
  const states: { readonly places: string; looks: number; tried: number; refused: number }[] = [];
  let isStopped = false;

  async function look(): Promise<void> {
    const { statusCode, text } = await tlsRequest(`${origin}${path}`, credentials);
    if (statusCode !== 200) return;
    const slice = JSON.parse(text) as {
      readonly endpoints: readonly { readonly addresses: readonly string[] }[] | null;
      readonly ports: readonly { readonly port: number }[];
    };
    const hosts = (slice.endpoints ?? []).flatMap(({ addresses }) => addresses).sort();
    const ports = slice.ports.map(({ port }) => port);
    const places = `${ports.join(',')} of ${hosts.join(', ')}`;
    let state = states.at(-1);
    if (state?.places !== places) {
      state = { places, looks: 0, tried: 0, refused: 0 };
      states.push(state);
    }
    state.looks++;
    for (const host of hosts) {
      for (const port of ports) {
        state.tried++;
        if (!(await isOpen(host, port))) state.refused++;
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
      return states.map(
        ({ places, looks, tried, refused }) => `${places}: ${looks} looks, ${refused} of ${tried} refused`,
      );
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
