import { type Miniflare, startMiniflare } from '../../../scripts/runtimes/index.ts';
import { bundleWorker, entryModule, type WorkerModule } from '../../../scripts/worker/bundle-worker.ts';

let bundled: Promise<readonly WorkerModule[]> | undefined;

/** The Worker as it is uploaded, built once for a test file. */
function workerModules(): Promise<readonly WorkerModule[]> {
  bundled ??= bundleWorker();
  return bundled;
}

/** Variables, and bindings in Miniflare's own terms. */
export type WorkerBindings = Readonly<Record<string, string | object>>;

const objectClasses = ['SnapshotObject'];

/** Isolates of one Worker share their bindings; here each is a Worker of its own that shares the Durable Object. */
export type WorkersByName = Readonly<Record<string, WorkerBindings>>;

export interface StartWorkersOptions {
  /** Told each line that the Workers write to their console. */
  readonly log?: (line: string) => void;
  /** The binding that their global `fetch` goes through. Default: Miniflare's own. */
  readonly network?: object;
  /** Names of modules that are left out, as if they could not be loaded. Default: none. */
  readonly lacks?: RegExp;
}

/** The Worker that holds the Durable Objects of all. */
const objectHolder = 'router';

/**
 * Starts Workers on real workerd, all of the same bundle, under `http://<name>/`.
 */
export async function startWorkers(
  workers: WorkersByName,
  { log = () => {}, network, lacks }: StartWorkersOptions = {},
): Promise<Miniflare> {
  const modules = Object.fromEntries(
    (await workerModules())
      .filter(({ name }) => lacks?.test(name) !== true)
      .map(({ name, contents }) => [name, { type: 'esm', contents: Buffer.from(contents).toString() }]),
  );
  const options = {
    telemetry: { enabled: false },
    cf: false,
    handleStructuredLogs: ({ message }: { message: string }) => log(message),
    workers: [
      ...Object.entries(workers).map(([name, bindings]) => ({
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
            name === objectHolder
              ? Object.fromEntries(
                  objectClasses.map((each) => [each, { type: 'durable-object', storage: 'sqlite' }]),
                )
              : {},
        },
        ...(network === undefined
          ? {}
          : { dev: { outboundService: { type: 'worker', worker: 'outbound' } } }),
      })),
      ...(network === undefined ? [] : [outboundWorker(network)]),
    ],
  };
  return startMiniflare(options);
}

/** Stands for the platform's way out, with a trust store of its own. */
function outboundWorker(network: object) {
  const contents = 'export default { fetch: (request, { NETWORK }) => NETWORK.fetch(request) };';
  return {
    config: {
      name: 'outbound',
      compatibilityDate: '2026-10-20',
      manifest: { mainModule: entryModule, modules: { [entryModule]: { type: 'esm', contents } } },
      env: { NETWORK: network },
    },
  };
}

/** Where all of them keep their snapshot. */
export const snapshotObject = { type: 'durable-object', worker: objectHolder, exportName: 'SnapshotObject' };

/** One Worker of several. */
interface RunningWorker {
  fetch(url: string, init: object): Promise<Response>;
}

export async function workerOf(miniflare: Miniflare, name = objectHolder): Promise<RunningWorker> {
  // Typed for handlers of its own kind of service bindings only.
  return (await miniflare.getWorker(name)) as unknown as RunningWorker;
}
