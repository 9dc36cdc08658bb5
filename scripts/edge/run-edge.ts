/**
 * `npm run edge:workerd -- --config edge.json` and `npm run edge:deno -- --config edge.json`: a router on a
 * self-hosted edge runtime, until it is told to end (docs/guides/edge-self-hosted.md). Exit codes: 0 after a signal, 2
 * for a faulty configuration, 1 for everything else.
 */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type EdgeConfiguration,
  type EdgeRuntime,
  listenAddress,
  readEdgeConfiguration,
} from '../../src/edge/deno/edge-configuration.ts';
import { shutdownSignal } from '../../src/node/process/signals.ts';
import type { EdgeTls, RunningEdge } from './running-edge.ts';
import { startDenoProcess } from './start-deno.ts';
import { startWorkerd } from './start-workerd.ts';
import { readWorkerBuild } from './worker-build.ts';

const usage = 'use: run-edge.ts workerd|deno --config <edge.json>';

/** Says why on standard error. */
class Refused extends Error {}

// From the beginning: one that comes while the process is being started must end that process, too.
const signal = shutdownSignal();

try {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { config: { type: 'string', default: 'edge.json' } },
  });
  const runtime = runtimeOf(positionals);
  const configuration = await readConfigurationFile(values.config, runtime);
  const running = await (runtime === 'workerd'
    ? runWorkerd(configuration)
    : startDenoProcess(resolve(values.config), configuration, process.cwd(), true));
  console.error(`${runtime} serves at ${configuration.listen}`);
  const ending = await Promise.race([signal, running.ended]);
  await running.close();
  process.exit(ending === undefined ? 1 : 0);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(error instanceof Refused ? 2 : 1);
}

function runtimeOf([name, ...others]: readonly string[]): EdgeRuntime {
  if (others.length > 0 || (name !== 'workerd' && name !== 'deno')) throw new Refused(usage);
  return name === 'deno' ? 'Deno' : 'workerd';
}

async function readConfigurationFile(path: string, runtime: EdgeRuntime): Promise<EdgeConfiguration> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new Refused(`${path}: ${error.message}`);
  });
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    // Without the parser's words: they quote the text, and it may be a key given by mistake.
    throw new Refused(`${path}: is not JSON`);
  }
  const result = readEdgeConfiguration(document, runtime);
  if (result.ok) return result.configuration;
  throw new Refused(result.issues.map((issue) => `${path}: ${issue.path} ${issue.message}`).join('\n'));
}

async function runWorkerd(configuration: EdgeConfiguration): Promise<RunningEdge> {
  const { hostname, port } = listenAddress(configuration);
  return startWorkerd({
    directory: configuration.stateDirectory,
    tls: await readTls(configuration),
    environment: await readEnvironment(configuration),
    build: await readWorkerBuild(),
    host: hostname.includes(':') ? `[${hostname}]` : hostname,
    port,
    networks: configuration.destinations.networks,
    show: true,
  });
}

async function readTls({ tls, destinations }: EdgeConfiguration): Promise<EdgeTls> {
  const read = (path: string) => readFile(path, 'utf8');
  const { certFile, keyFile } = destinations;
  return {
    serving: { certificate: await read(tls.certFile), privateKey: await read(tls.keyFile) },
    clientAuthorities: tls.clientCAFile === undefined ? undefined : await read(tls.clientCAFile),
    destinationAuthorities: await read(destinations.caFile),
    frontProxyClient:
      certFile === undefined || keyFile === undefined
        ? undefined
        : { certificate: await read(certFile), privateKey: await read(keyFile) },
  };
}

async function readEnvironment({ environment, environmentFiles }: EdgeConfiguration) {
  const variables: Record<string, string> = { ...environment };
  for (const [name, path] of Object.entries(environmentFiles)) variables[name] = await readFile(path, 'utf8');
  return variables;
}
