import { Miniflare, type MiniflareOptions } from 'miniflare';
import { bundleWorker, entryModule, type WorkerModule } from '../../scripts/worker/bundle-worker.ts';

let bundled: Promise<readonly WorkerModule[]> | undefined;

/** The Worker as it is uploaded, built once for a test file. */
export function workerModules(): Promise<readonly WorkerModule[]> {
  bundled ??= bundleWorker();
  return bundled;
}

/** Variables, and bindings in Miniflare's own terms. */
export type WorkerBindings = Readonly<Record<string, string | object>>;

/** Isolates of one Worker share their bindings; here each is a Worker of its own that shares the Durable Object. */
export type WorkersByName = Readonly<Record<string, WorkerBindings>>;

/** The Worker that holds the Durable Object of all. */
export const objectHolder = 'router';

/**
 * Starts Workers on real workerd, all of the same bundle, under `http://<name>/`.
 * @param log what the Workers write to their console
 */
export async function startWorkers(
  workers: WorkersByName,
  log: (line: string) => void = () => {},
): Promise<Miniflare> {
  const modules = Object.fromEntries(
    (await workerModules()).map(({ name, contents }) => [
      name,
      { type: 'esm', contents: Buffer.from(contents).toString() },
    ]),
  );
  const options = {
    telemetry: { enabled: false },
    cf: false,
    handleStructuredLogs: ({ message }: { message: string }) => log(message),
    workers: Object.entries(workers).map(([name, bindings]) => ({
      config: {
        name,
        compatibilityDate: '2026-10-20',
        compatibilityFlags: ['enable_request_signal'],
        manifest: { mainModule: entryModule, modules },
        env: Object.fromEntries(
          Object.entries(bindings).map(([variable, value]) => [
            variable,
            typeof value === 'string' ? { type: 'text', value } : value,
          ]),
        ),
        exports:
          name === objectHolder ? { SnapshotObject: { type: 'durable-object', storage: 'sqlite' } } : {},
      },
    })),
  };
  // The option types of this pre-release leave out forms that it takes.
  const miniflare = new Miniflare(options as unknown as MiniflareOptions);
  await miniflare.ready;
  return miniflare;
}

/** Where all of them keep their snapshot. */
export const snapshotObject = { type: 'durable-object', worker: objectHolder, exportName: 'SnapshotObject' };

/** One Worker of several. */
export interface RunningWorker {
  fetch(url: string, init: object): Promise<Response>;
  /** As the cron trigger does. */
  scheduled(event: { readonly cron: string }): Promise<{ readonly outcome: string }>;
}

export async function workerOf(miniflare: Miniflare, name = objectHolder): Promise<RunningWorker> {
  // Typed for handlers of its own kind of service bindings only.
  return (await miniflare.getWorker(name)) as unknown as RunningWorker;
}
