import { statusResponse } from '../../apimachinery/status.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { SnapshotIssue } from '../../snapshot/format/issues.ts';
import { parseJsonText } from '../../snapshot/format/json-text.ts';
import type { WorkerConfiguration } from '../configuration/configuration.ts';
import { WorkerConfigurationError } from '../configuration/configuration-error.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import { type LogLevel, logLevels } from '../platform/console-logger.ts';
import { createDenoHandler } from './create-deno-handler.ts';
import type { DenoHttpClient, DenoRuntime, DenoServer } from './deno-runtime.ts';
import { createFileSnapshotStore } from './deno-snapshot-store.ts';
import { createDenoTransport, type DenoFetch } from './deno-transport.ts';
import { type EdgeConfiguration, listenAddress, readEdgeConfiguration } from './edge-configuration.ts';

/** In the state directory, next to `<name>.new` while it is being written. */
export const snapshotFileName = 'snapshot';

/** Variables of a Worker that have no meaning here. Left in silently, they would promise what is not done. */
const unsupported: Readonly<Record<string, string>> = {
  ACCESS_CONFIG: 'there is no Cloudflare Access in front of Deno',
  CLIENT_CERTIFICATES: 'Deno cannot ask for client certificates',
  SNAPSHOT_NAME: 'the snapshot is kept in stateDirectory',
  SNAPSHOT_STORE: 'the snapshot is kept in stateDirectory',
  SYNC_SERVERS: 'there is no cron trigger: run `mixed-version-proxy sync`',
  SYNC_SIGNING_KEY: 'there is no cron trigger: run `mixed-version-proxy sync`',
  SYNC_TOKEN: 'there is no cron trigger: run `mixed-version-proxy sync`',
};

/** Nothing can be started with what was given; every fault is listed. */
export class DenoConfigurationError extends Error {
  override readonly name = 'DenoConfigurationError';
  readonly issues: readonly SnapshotIssue[];
  constructor(issues: readonly SnapshotIssue[]) {
    super(issues.map(({ path, message }) => `${path} ${message}`.trim()).join('; '));
    this.issues = issues;
  }
}

export interface DenoRouterOptions {
  /** Of an EdgeConfiguration, JSON. */
  readonly path: string;
  readonly createLogger: (level: LogLevel) => Logger;
  readonly onListen: (address: { readonly port: number }) => void;
}

/**
 * Starts the router on Deno.
 * @throws {DenoConfigurationError} with every fault
 */
export async function startDenoRouter(deno: DenoRuntime, options: DenoRouterOptions): Promise<DenoServer> {
  const { path, createLogger, onListen } = options;
  const parsed = parseJsonText(await deno.readTextFile(path), 8);
  if (!parsed.ok) throw new DenoConfigurationError([{ path, message: 'is not JSON' }]);
  const read = readEdgeConfiguration(parsed.value, 'Deno');
  if (!read.ok) throw new DenoConfigurationError(read.issues);
  const { configuration } = read;
  const { tls, destinations, stateDirectory } = configuration;
  const file = (name: string) => deno.readTextFile(name);

  const variables = await readVariables(deno, configuration);
  const worker = await workerConfiguration(variables);
  const logger = createLogger(logLevels.find((level) => level === variables['LOG_LEVEL']) ?? 'info');
  const caCerts = [await file(destinations.caFile)];
  const client = deno.createHttpClient({ caCerts });
  const frontProxyClient =
    destinations.certFile === undefined || destinations.keyFile === undefined
      ? undefined
      : deno.createHttpClient({
          caCerts,
          cert: await file(destinations.certFile),
          key: await file(destinations.keyFile),
        });
  const handler = await createDenoHandler({
    configuration: worker,
    transport: createDenoTransport({ client, frontProxyClient, fetch: denoFetch }),
    store: createFileSnapshotStore(deno, `${stateDirectory}/${snapshotFileName}`),
    fetchDocument: (url, init) => fetch(url, withClient(init, client)),
    logger,
  });
  const { hostname, port } = listenAddress(configuration);
  return deno.serve(
    {
      hostname,
      port,
      cert: await file(tls.certFile),
      key: await file(tls.keyFile),
      onListen,
      onError(error) {
        logger.error({ err: error }, 'A request ended in an internal error');
        return statusResponse(
          'InternalError',
          'Internal error occurred: the router could not handle the request',
        );
      },
    },
    handler,
  );
}

async function readVariables(
  deno: DenoRuntime,
  { environment, environmentFiles }: EdgeConfiguration,
): Promise<Readonly<Record<string, string>>> {
  const variables: Record<string, string> = { ...environment };
  for (const [name, path] of Object.entries(environmentFiles))
    variables[name] = await deno.readTextFile(path);
  return variables;
}

/** The router's own variables, checked as those of a Worker are. */
async function workerConfiguration(
  variables: Readonly<Record<string, string>>,
): Promise<WorkerConfiguration> {
  const issues = Object.entries(unsupported)
    .filter(([name]) => name in variables)
    .map(([name, why]) => ({ path: name, message: `is not supported: ${why}` }));
  if (issues.length > 0) throw new DenoConfigurationError(issues);
  try {
    return await readConfiguration(variables);
  } catch (error) {
    if (!(error instanceof WorkerConfigurationError)) throw error;
    throw new DenoConfigurationError(error.faults.map(({ name, message }) => ({ path: name, message })));
  }
}

const denoFetch: DenoFetch = (url, init) => fetch(url, init);

/** Deno's `fetch` takes the client among its options; the web's types do not know it. */
function withClient<Init extends object>(init: Init, client: DenoHttpClient): Init {
  return Object.assign({}, init, { client });
}
