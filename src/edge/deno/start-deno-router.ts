import { statusResponse } from '../../apimachinery/status.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { SnapshotIssue } from '../../snapshot/format/issues.ts';
import { parseJsonText } from '../../snapshot/format/json-text.ts';
import { type LogLevel, logLevels } from '../platform/console-logger.ts';
import { createDenoHandler } from './create-deno-handler.ts';
import type { DenoHttpClient, DenoRuntime, DenoServer } from './deno-runtime.ts';
import { createFileSnapshotStore } from './deno-snapshot-store.ts';
import { createDenoTransport, type DenoFetch } from './deno-transport.ts';
import { listenAddress, readEdgeConfiguration } from './edge-configuration.ts';
import { readEdgeInputs } from './edge-inputs.ts';

/** In the state directory, next to `<name>.new` while it is being written. */
export const snapshotFileName = 'snapshot';

/** Nothing can be started with what was given; every error is listed. */
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
 * @throws {DenoConfigurationError} with every error
 */
export async function startDenoRouter(deno: DenoRuntime, options: DenoRouterOptions): Promise<DenoServer> {
  const { path, createLogger, onListen } = options;
  const text = await deno.readTextFile(path).catch((error: unknown) => {
    throw new DenoConfigurationError([{ path, message: `cannot be read: ${errorMessage(error)}` }]);
  });
  const parsed = parseJsonText(text, 8);
  if (!parsed.ok) throw new DenoConfigurationError([{ path, message: 'is not JSON' }]);
  const read = readEdgeConfiguration(parsed.value, 'Deno');
  if (!read.ok) throw new DenoConfigurationError(read.issues);
  const { configuration } = read;
  const readInputs = await readEdgeInputs(configuration, 'Deno', (file) => deno.readTextFile(file));
  if (!readInputs.ok) throw new DenoConfigurationError(readInputs.issues);
  const { variables, files, worker } = readInputs.inputs;
  const logger = createLogger(logLevels.find((level) => level === variables['LOG_LEVEL']) ?? 'info');
  const caCerts = [files.ca];
  const client = deno.createHttpClient({ caCerts });
  const frontProxyClient = files.frontProxy && deno.createHttpClient({ caCerts, ...files.frontProxy });
  const handler = await createDenoHandler({
    configuration: worker,
    transport: createDenoTransport({ client, frontProxyClient, fetch: denoFetch }),
    store: createFileSnapshotStore(deno, `${configuration.stateDirectory}/${snapshotFileName}`),
    fetchDocument: (url, init) => fetch(url, withClient(init, client)),
    logger,
  });
  const { hostname, port } = listenAddress(configuration);
  return deno.serve(
    {
      hostname,
      port,
      ...files.serving,
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

const denoFetch: DenoFetch = (url, init) => fetch(url, init);

/** Deno's `fetch` takes the client among its options; the web's types do not know it. */
function withClient<Init extends object>(init: Init, client: DenoHttpClient): Init {
  return Object.assign({}, init, { client });
}
