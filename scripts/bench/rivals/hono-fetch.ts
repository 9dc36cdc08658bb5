import { join } from 'node:path';
import { type Contender, serverName } from './contender.ts';

/** The natural design on Node: a Hono handler that forwards by `fetch` and returns its response. */
export const honoFetch: Contender = {
  name: 'hono-fetch',
  title: 'Hono + fetch',
  version: async () => `Node ${process.versions.node}`,
  async command({ workbench, port, servers }) {
    const { clusterCa, router, frontProxyClient } = workbench.certificates;
    const options = {
      port,
      origin: `https://127.0.0.1:${servers.peer}`,
      serverName,
      serving: router,
      client: frontProxyClient,
      authority: clusterCa,
    };
    return {
      executable: process.execPath,
      arguments: [join(import.meta.dirname, 'hono-fetch-server.ts'), JSON.stringify(options)],
    };
  },
};
