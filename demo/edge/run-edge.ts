/**
 * `npm start -- edge --config edge.json`: a router on a self-hosted workerd, until it is told to end (docs/guides/edge.md). Exit codes: 0 after a signal, 2
 * for a faulty configuration, 1 for everything else.
 */
import { readFile, stat } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { CertificatePemError, parseCertificates, parsePair } from '../../src/node/callers/pem-files.ts';
import { shutdownSignal } from '../../src/node/process/signals.ts';
import { type DocumentIssue, describeIssueOf } from '../../src/runtime/validation.ts';
import { type EdgeConfiguration, listenAddress, readEdgeConfiguration } from './edge-configuration.ts';
import { type EdgeFiles, type EdgeInputs, type EdgeKeyPair, readEdgeInputs } from './edge-inputs.ts';
import type { PemPair, RunningEdge } from './running-edge.ts';
import { startWorkerd } from './start-workerd.ts';
import { readWorkerBuild } from './worker-build.ts';

const usage = 'use: npm start -- edge --config <edge.json>';

/** Says why on standard error. */
class Refused extends Error {}

// From the beginning: one that comes while the process is being started must end that process, too.
const signal = shutdownSignal();

try {
  const { values } = argumentsOf();
  const { configuration, inputs } = await readEverything(values.config);
  const running = await runWorkerd(configuration, inputs);
  console.error(`workerd serves at ${configuration.listen}`);
  const ending = await Promise.race([signal, running.ended]);
  await running.close();
  process.exit(ending === undefined ? 1 : 0);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(error instanceof Refused ? 2 : 1);
}

function argumentsOf() {
  try {
    return parseArgs({ options: { config: { type: 'string', default: 'edge.json' } } });
  } catch (error) {
    throw new Refused(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  }
}

async function readConfigurationFile(path: string): Promise<EdgeConfiguration> {
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
  const result = readEdgeConfiguration(document);
  if (result.ok) return result.configuration;
  throw refusal(path, result.issues);
}

/** The configuration and all that it names, so that every error is told at once, whatever workerd says of the first. */
async function readEverything(path: string) {
  const configuration = await readConfigurationFile(path);
  const read = await readEdgeInputs(configuration, (file) => readFile(file, 'utf8'));
  const issues = [
    ...(read.ok ? pemIssues(configuration, read.inputs.files) : read.issues),
    ...(await directoryIssues(configuration)),
  ];
  if (!read.ok || issues.length > 0) throw refusal(path, issues);
  return { configuration, inputs: read.inputs };
}

function refusal(file: string, issues: readonly DocumentIssue[]): Refused {
  return new Refused(issues.map((issue) => describeIssueOf(file, issue)).join('\n'));
}

function pemIssues(
  { tls, destinations }: EdgeConfiguration,
  { ca, clientCa, serving, frontProxy }: EdgeFiles,
): readonly DocumentIssue[] {
  const issues: DocumentIssue[] = [];
  const check = (path: string, parse: () => unknown): void => {
    try {
      parse();
    } catch (error) {
      if (!(error instanceof CertificatePemError)) throw error;
      issues.push({ path, message: `cannot be used: ${error.message}` });
    }
  };
  const checkBundle = (path: string, source: string | undefined, pem: string | undefined): void => {
    if (source !== undefined && pem !== undefined) check(path, () => parseCertificates({ pem, source }));
  };
  const checkPair = (
    path: string,
    { certFile, keyFile }: { readonly certFile?: string | undefined; readonly keyFile?: string | undefined },
    pair: EdgeKeyPair | undefined,
  ): void => {
    if (certFile === undefined || keyFile === undefined || pair === undefined) return;
    const certificate = { pem: pair.cert, source: certFile };
    check(path, () => parsePair(certificate, { pem: pair.key, source: keyFile }));
  };
  checkPair('tls', tls, serving);
  checkBundle('tls.clientCAFile', tls.clientCAFile, clientCa);
  checkBundle('destinations.caFile', destinations.caFile, ca);
  checkPair('destinations', destinations, frontProxy);
  return issues;
}

/** Made by its owner: a slip in its name would lose the snapshot of the last run. */
async function directoryIssues({ stateDirectory }: EdgeConfiguration): Promise<readonly DocumentIssue[]> {
  const isDirectory = await stat(stateDirectory).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return isDirectory ? [] : [{ path: 'stateDirectory', message: `is no directory: ${stateDirectory}` }];
}

async function runWorkerd(
  configuration: EdgeConfiguration,
  { variables, files }: EdgeInputs,
): Promise<RunningEdge> {
  const { hostname, port } = listenAddress(configuration);
  return startWorkerd({
    directory: configuration.stateDirectory,
    tls: {
      serving: pemPair(files.serving),
      clientAuthorities: files.clientCa,
      destinationAuthorities: files.ca,
      frontProxyClient: files.frontProxy && pemPair(files.frontProxy),
    },
    environment: variables,
    build: await readWorkerBuild(),
    host: hostname.includes(':') ? `[${hostname}]` : hostname,
    port,
    networks: configuration.destinations.networks,
    show: true,
  });
}

function pemPair({ cert, key }: EdgeKeyPair): PemPair {
  return { certificate: cert, privateKey: key };
}
