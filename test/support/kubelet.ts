import { mkdir, readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { securePortOf } from '../../src/cli/install/move-kube-apiserver.ts';

interface KubeletOptions {
  /** /etc/kubernetes/manifests of the node. */
  readonly manifests: string;
  readonly tls: { readonly cert: string; readonly key: string };
  /** What starts and is not ready, as it stands in `started`. */
  readonly unready?: ReadonlySet<string>;
}

/** Starts and stops what lies in the folder of static pods: each is a server that answers /readyz on its port. */
export async function startKubelet({ manifests, tls, unready = new Set() }: KubeletOptions) {
  await mkdir(manifests, { recursive: true });
  const running = new Map<string, { readonly text: string; readonly server: Server }>();
  /** What has been started, in order: `kube-apiserver.yaml:6444`. */
  const started: string[] = [];
  let isStopping = false;

  const stop = async (name: string): Promise<void> => {
    const { server } = running.get(name) ?? {};
    running.delete(name);
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve) ?? resolve(undefined));
  };

  async function look(): Promise<void> {
    // As the kubelet does: every file but those with a dot.
    // The folder goes with the test.
    const names = (await readdir(manifests).catch(() => [])).filter((name) => !name.startsWith('.'));
    for (const name of running.keys()) if (!names.includes(name)) await stop(name);
    for (const name of names) {
      const text = await readFile(join(manifests, name), 'utf8').catch(() => undefined);
      if (text === undefined || running.get(name)?.text === text) continue;
      await stop(name);
      const port = name === 'kube-apiserver.yaml' ? securePortOf(text) : routerPort(text);
      const server = createServer(tls, (request, response) => {
        // It is no API server: who asks for objects has to ask another one.
        if (request.url !== '/readyz') return request.destroy();
        return response.writeHead(unready.has(`${name}:${port}`) ? 500 : 200).end();
      });
      const isListening = await new Promise<boolean>((resolve) => {
        server.once('error', () => resolve(false));
        server.listen(port, '127.0.0.1', () => resolve(true));
      });
      // One whose port is taken is started again later.
      if (!isListening) continue;
      running.set(name, { text, server });
      started.push(`${name}:${port}`);
    }
  }

  await look();
  const ended = (async () => {
    while (!isStopping) {
      await sleep(20);
      await look();
    }
    for (const name of [...running.keys()]) await stop(name);
  })();
  return {
    started,
    async stop(): Promise<void> {
      isStopping = true;
      await ended;
    },
  };
}

function routerPort(text: string): number {
  return Number(parse(text).spec.containers[0].ports[0].containerPort);
}
