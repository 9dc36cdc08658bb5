import {
  type WorkerConfiguration,
  WorkerConfigurationError,
} from '../../src/edge/configuration/configuration.ts';

import { readConfiguration } from '../../src/edge/configuration/read-configuration.ts';
import { errorMessage } from '../../src/runtime/errors.ts';
import type { DocumentIssue } from '../../src/runtime/validation.ts';
import type { EdgeConfiguration } from './edge-configuration.ts';

/** Contents of the files that an EdgeConfiguration names; PEM. */
export interface EdgeFiles {
  readonly ca: string;
  readonly clientCa: string | undefined;
  readonly serving: EdgeKeyPair;
  readonly frontProxy: EdgeKeyPair | undefined;
}

export interface EdgeKeyPair {
  readonly cert: string;
  readonly key: string;
}

export interface EdgeInputs {
  readonly variables: Readonly<Record<string, string>>;
  readonly files: EdgeFiles;
  /** The variables, checked. */
  readonly worker: WorkerConfiguration;
}

export type ReadEdgeInputsResult =
  | { readonly ok: true; readonly inputs: EdgeInputs }
  /** Every file that cannot be read and every error of a variable. */
  | { readonly ok: false; readonly issues: readonly DocumentIssue[] };

/** Reads every file that the configuration names, and checks the variables as those of a Worker are. */
export async function readEdgeInputs(
  { tls, destinations, environment, environmentFiles }: EdgeConfiguration,
  readTextFile: (path: string) => Promise<string>,
): Promise<ReadEdgeInputsResult> {
  const issues: DocumentIssue[] = [];
  /** Empty where it cannot be read; then there is an issue. */
  const readFile = async (path: string, file: string): Promise<string> => {
    try {
      return await readTextFile(file);
    } catch (error) {
      issues.push({ path, message: `names a file that cannot be read: ${errorMessage(error)}` });
      return '';
    }
  };
  const readPair = async (path: string, cert: string, key: string): Promise<EdgeKeyPair> => ({
    cert: await readFile(`${path}.certFile`, cert),
    key: await readFile(`${path}.keyFile`, key),
  });
  const variables: Record<string, string> = { ...environment };
  for (const [name, file] of Object.entries(environmentFiles))
    variables[name] = await readFile(`environmentFiles.${name}`, file);
  const { certFile, keyFile } = destinations;
  const files: EdgeFiles = {
    ca: await readFile('destinations.caFile', destinations.caFile),
    clientCa:
      tls.clientCAFile === undefined ? undefined : await readFile('tls.clientCAFile', tls.clientCAFile),
    serving: await readPair('tls', tls.certFile, tls.keyFile),
    frontProxy:
      certFile === undefined || keyFile === undefined
        ? undefined
        : await readPair('destinations', certFile, keyFile),
  };
  const unreadable = new Set(issues.map(({ path }) => path));
  const checked = await checkVariables(variables, files.frontProxy !== undefined);
  // The value of an unreadable file is unknown: only its path is reported.
  issues.push(...checked.issues.filter(({ path }) => !unreadable.has(`environmentFiles.${path}`)));
  const { worker } = checked;
  return worker === undefined || issues.length > 0
    ? { ok: false, issues }
    : { ok: true, inputs: { variables, files, worker } };
}

/**
 * Stand-ins for the bindings that workerd has besides variables, for the time of the check: recognized by their
 * methods.
 */
const namespace = { idFromName: () => undefined, get: () => undefined };
const workerdBindings = { SNAPSHOT_OBJECT: namespace };
const frontProxyBinding = { PEER_MTLS: { fetch: () => undefined } };

async function checkVariables(
  variables: Readonly<Record<string, string>>,
  hasFrontProxy: boolean,
): Promise<{ readonly worker?: WorkerConfiguration; readonly issues: readonly DocumentIssue[] }> {
  const bindings = { ...workerdBindings, ...(hasFrontProxy ? frontProxyBinding : {}) };
  try {
    return { worker: await readConfiguration({ ...bindings, ...variables }), issues: [] };
  } catch (error) {
    if (!(error instanceof WorkerConfigurationError)) throw error;
    return { issues: error.issues };
  }
}
