import { statusResponse } from '../../apimachinery/status.ts';
import { errorMessage } from '../../runtime/error-message.ts';
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

/** Variables of a Worker without a meaning here. To ignore them silently would pretend that they work. */
const unsupported: Readonly<Record<string, string>> = {
  ACCESS_CONFIG: 'there is no Cloudflare Access in front of Deno',
  CLIENT_CERTIFICATES: 'Deno cannot ask for client certificates',
  SNAPSHOT_NAME: 'the snapshot is kept in stateDirectory',
  SNAPSHOT_STORE: 'the snapshot is kept in stateDirectory',
  SYNC_SERVERS: 'there is no cron trigger: run `mixed-version-proxy sync`',
  SYNC_SIGNING_KEY: 'there is no cron trigger: run `mixed-version-proxy sync`',
  SYNC_TOKEN: 'there is no cron trigger: run `mixed-version-proxy sync`',
};

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
  const { variables, files, worker } = await readEverything(deno, configuration);
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

interface Files {
  /** PEM. */
  readonly ca: string;
  readonly serving: KeyPair;
  readonly frontProxy: KeyPair | undefined;
}

interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/**
 * Every file that the configuration names, and the variables checked.
 * @throws {DenoConfigurationError} with every file that cannot be read and every error of a variable, at once
 */
async function readEverything(
  deno: DenoRuntime,
  { tls, destinations, environment, environmentFiles }: EdgeConfiguration,
): Promise<{
  readonly variables: Readonly<Record<string, string>>;
  readonly files: Files;
  readonly worker: WorkerConfiguration;
}> {
  const issues: SnapshotIssue[] = [];
  /** Empty where it cannot be read; then there is an issue. */
  const readFile = async (path: string, file: string): Promise<string> => {
    try {
      return await deno.readTextFile(file);
    } catch (error) {
      issues.push({ path, message: `names a file that cannot be read: ${errorMessage(error)}` });
      return '';
    }
  };
  const readPair = async (path: string, cert: string, key: string): Promise<KeyPair> => ({
    cert: await readFile(`${path}.certFile`, cert),
    key: await readFile(`${path}.keyFile`, key),
  });
  const variables: Record<string, string> = { ...environment };
  for (const [name, file] of Object.entries(environmentFiles))
    variables[name] = await readFile(`environmentFiles.${name}`, file);
  const { certFile, keyFile } = destinations;
  const files: Files = {
    ca: await readFile('destinations.caFile', destinations.caFile),
    serving: await readPair('tls', tls.certFile, tls.keyFile),
    frontProxy:
      certFile === undefined || keyFile === undefined
        ? undefined
        : await readPair('destinations', certFile, keyFile),
  };
  const unreadable = new Set(issues.map(({ path }) => path));
  const worker = await workerConfiguration(variables).catch((error: unknown) => {
    if (!(error instanceof DenoConfigurationError)) throw error;
    // The value of an unreadable file is unknown: only its path is reported.
    issues.push(...error.issues.filter(({ path }) => !unreadable.has(`environmentFiles.${path}`)));
    return undefined;
  });
  if (issues.length > 0 || worker === undefined) throw new DenoConfigurationError(issues);
  return { variables, files, worker };
}

/** The router's own variables, checked as those of a Worker are. */
async function workerConfiguration(
  variables: Readonly<Record<string, string>>,
): Promise<WorkerConfiguration> {
  const notSupported = Object.entries(unsupported)
    .filter(([name]) => name in variables)
    .map(([name, why]) => ({ path: name, message: `is not supported: ${why}` }));
  const supported = Object.entries(variables).filter(([name]) => !(name in unsupported));
  try {
    const configuration = await readConfiguration(Object.fromEntries(supported));
    if (notSupported.length === 0) return configuration;
  } catch (error) {
    if (!(error instanceof WorkerConfigurationError)) throw error;
    notSupported.push(...error.issues);
  }
  throw new DenoConfigurationError(notSupported);
}

const denoFetch: DenoFetch = (url, init) => fetch(url, init);

/** Deno's `fetch` takes the client among its options; the web's types do not know it. */
function withClient<Init extends object>(init: Init, client: DenoHttpClient): Init {
  return Object.assign({}, init, { client });
}
