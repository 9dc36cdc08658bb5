import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { securePortOf } from '../../../src/cli/install/move-kube-apiserver.ts';

interface KubeletOptions {
  /** /etc/kubernetes/manifests of the node. */
  readonly manifests: string;
  readonly tls: { readonly cert: string; readonly key: string };
  /** Servers that start and are not ready, as each stands in `started`. */
  readonly unready?: ReadonlySet<string>;
  /** Images that are nowhere. */
  readonly missingImages?: ReadonlySet<string>;
  /** Tells the API of a pod, as its mirror there; `undefined`: it is gone. */
  readonly mirror?: (name: string, pod: MirroredPod | undefined) => void;
}

export interface MirroredPod {
  /** Hash of the manifest. */
  readonly hash: string;
  /** Why its container does not run. */
  readonly waiting?: { readonly reason: string; readonly message: string };
}

/** Starts and stops what lies in the folder of static pods: each is a server that answers /readyz on its port. */
export async function startKubelet({
  manifests,
  tls,
  unready = new Set(),
  missingImages = new Set(),
  mirror = () => {},
}: KubeletOptions) {
  await mkdir(manifests, { recursive: true });
  const running = new Map<string, { readonly text: string; readonly server?: Server }>();
  /** Manifests that have been started, in order: `kube-apiserver.yaml:6444`. */
  const started: string[] = [];
  let isStopping = false;
  let isPaused = false;
  const waiting: (() => void)[] = [];
  const podOf = (name: string) => name.replace('.yaml', '');

  const stop = async (name: string): Promise<void> => {
    const { server } = running.get(name) ?? {};
    if (running.delete(name)) mirror(podOf(name), undefined);
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
      const pod = podIn(name, text);
      // As the kubelet does with a file that is being written: it is read again later.
      if (pod === undefined) continue;
      await stop(name);
      const hash = createHash('sha256').update(text).digest('hex');
      const { image, port } = pod;
      if (port === undefined) {
        running.set(name, { text });
        started.push(name);
        mirror(podOf(name), { hash });
        continue;
      }
      if (missingImages.has(image)) {
        running.set(name, { text });
        const message = `Back-off pulling image "${image}"`;
        mirror(podOf(name), { hash, waiting: { reason: 'ImagePullBackOff', message } });
        continue;
      }
      const server = createServer(tls, (request, response) => {
        // The server is no API server: a client that asks for objects has to ask another one.
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
      mirror(podOf(name), { hash });
    }
  }

  await look();
  const ended = (async () => {
    try {
      while (!isStopping) {
        await sleep(20);
        const waited = waiting.splice(0);
        if (!isPaused) await look();
        for (const resolve of waited) resolve();
      }
    } finally {
      // Whatever went wrong: a server that is left would keep the process of the tests alive.
      for (const name of [...running.keys()]) await stop(name);
    }
  })();
  return {
    started,
    /** Once it has looked at what lies in the folder now. */
    looked: () => new Promise<void>((resolve) => waiting.push(resolve)),
    /** Pauses the kubelet; pods that run go on, as under a kubelet that has ended. */
    pause(): void {
      isPaused = true;
    },
    resume(): void {
      isPaused = false;
    },
    async stop(): Promise<void> {
      isStopping = true;
      await ended;
    },
  };
}

/** Content of a manifest about its pod; `undefined`: the manifest is not whole. */
function podIn(name: string, text: string): { readonly image: string; readonly port?: number } | undefined {
  try {
    const [container] = parse(text).spec.containers;
    // Nobody here asks a controller manager or a scheduler.
    if (name !== 'kube-apiserver.yaml' && container.ports === undefined) return { image: container.image };
    const port = name === 'kube-apiserver.yaml' ? securePortOf(text) : container.ports[0].containerPort;
    return { image: container.image, port: Number(port) };
  } catch {
    return undefined;
  }
}
