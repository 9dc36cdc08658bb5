import { stat } from 'node:fs/promises';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import type { FoundSetting } from '../../own-paths/status/setting-change.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { readServeInput, type ServeArguments } from '../serve/serve-input.ts';
import { type CommandContext, messageOf } from '../terminal/command-context.ts';
import { askAsRouter } from './ask-as-router.ts';
import { certificateFindings } from './certificate-findings.ts';
import { type ExaminedServer, examinedServers } from './examined-server.ts';
import type { Finding } from './finding.ts';
import { identityFindings } from './identity-findings.ts';
import { addressFindings, serverFindings } from './server-findings.ts';
import { snapshotFindings } from './snapshot-findings.ts';

export interface RouterFindings {
  readonly findings: readonly Finding[];
  /** Servers that respond to the router. */
  readonly reached: readonly ExaminedServer[];
  /** What the stored snapshot says; `undefined` where there is none that can be used. */
  readonly table: RoutingTable | undefined;
  readonly config: ServeConfig;
}

/**
 * Looks at a router that `serve` would start: at what is on this machine, then at its servers.
 * @throws {CommandFailure} exit code 2 when the configuration cannot be used.
 */
export async function examineRouter(given: ServeArguments, context: CommandContext): Promise<RouterFindings> {
  const { config } = await readServeInput(given, context);
  const { findings: ofSnapshot, table } = await snapshotFindings(config, context);
  const ask = askAsRouter(config);
  const servers = await serverFindings(examinedServers(config, table), ask, context.clock);
  const source = given.configurationFiles.at(-1) ?? 'what the flags say';
  return {
    findings: [
      { check: 'configuration', result: 'ok', message: `${source} can be used` },
      ...config.commandLine.found.map(foundFinding),
      ...certificateFindings(config, context.clock()),
      ...(await permissionFindings(config)),
      ...ofSnapshot,
      ...servers.findings,
      ...addressFindings(config, table),
      ...(await identityFindings(servers.reached, config, ask)),
    ],
    reached: servers.reached,
    table,
    config,
  };
}

/** A setting that was found is named with what is wrong with it. */
function foundFinding({ flag, value, source }: FoundSetting): Finding {
  return { check: 'found', result: 'ok', message: `${flag}=${value}: ${source}` };
}

/** Whether others can read the private keys. */
async function permissionFindings(config: ServeConfig): Promise<readonly Finding[]> {
  const { serving, namedServing, proxyClient, destinationIdentity } = config;
  const paths = [
    serving.privateKey.path,
    ...namedServing.map(({ privateKey }) => privateKey.path),
    proxyClient?.privateKey.path,
    destinationIdentity.signingKey?.path,
  ].filter((path) => path !== undefined);
  return Promise.all([...new Set(paths)].map(permissionsOf));
}

async function permissionsOf(path: string): Promise<Finding> {
  const check = 'permissions of keys';
  try {
    const { mode } = await stat(path);
    const octal = (mode & 0o777).toString(8).padStart(3, '0');
    // A group may read: Secrets are mounted with fsGroup that way.
    return (mode & 0o007) === 0 && (mode & 0o020) === 0
      ? { check, result: 'ok', message: `${path} has mode ${octal}` }
      : { check, result: 'warning', message: `${path} has mode ${octal}: chmod 600 ${path}` };
  } catch (error) {
    return { check, result: 'failed', message: `${path}: ${messageOf(error)}` };
  }
}
