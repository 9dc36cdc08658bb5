import { stat } from 'node:fs/promises';
import { count } from '../../dashboard/wording/display-names.ts';
import { parseCertificates, subjectOf } from '../../node/callers/pem-files.ts';
import type { PemFile, ServeConfig } from '../../node/configuration/serve-config.ts';
import { expiringCredentials } from '../../node/credentials/cluster-access.ts';
import type { ExpiringCertificate } from '../../node/credentials/credential-watch.ts';
import { localServerIdOf } from '../../node/process/local-server-id.ts';
import { halfWayWarnings, ownServerWarnings } from '../../own-paths/status/router-status.ts';
import { expiryOf } from '../../own-paths/status/status-sources.ts';
import { durationText } from '../../runtime/duration-text.ts';
import { errorCode, errorMessage } from '../../runtime/errors.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { isOld, type RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { readClusterOnce } from '../../sync/node/embedded-sync.ts';
import { readServeInput, type ServeArguments } from '../serve/serve-input.ts';
import { readSnapshotInput } from '../snapshot/snapshot-input.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import { type Finding, failed, ok, warning } from './finding.ts';
import { portFinding, serverFindings } from './server-findings.ts';

interface RouterFindings {
  readonly findings: readonly Finding[];
  /** By the stored snapshot, else by what has been read of the cluster; `undefined` where there is neither. */
  readonly table: RoutingTable | undefined;
}

/**
 * Looks at a router that `serve` would start: at what is on this machine, then at its servers.
 * @throws {CommandFailure} exit code 2 when the configuration cannot be used.
 */
export async function examineRouter(given: ServeArguments, context: CommandContext): Promise<RouterFindings> {
  const { config: configured } = await readServeInput(given, context);
  const stored = await snapshotFindings(configured, context);
  const read =
    stored.table === undefined ? await clusterFindings(configured) : { findings: [], table: undefined };
  const table = stored.table ?? read.table;
  // As the router itself does, by the snapshot that it would begin with.
  const inTable = table && localServerIdOf(configured, table);
  const config = { ...configured, serverId: inTable ?? configured.serverId };
  const source = given.flags.config?.at(-1) ?? 'what the flags say';
  return {
    findings: [
      ok('configuration', `${source} can be used`),
      ...config.found.map(({ flag, value, source }) => ok('found', `${flag}=${value}: ${source}`)),
      ...serverIdFindings(config, table),
      await portFinding(config, context),
      ...certificateFindings(config, context.clock()),
      ...(await kubeconfigFindings(config, context.clock())),
      ...(await permissionFindings(config)),
      ...stored.findings,
      ...read.findings,
      ...(await serverFindings(config, table, context.clock)),
      ...halfWayWarnings(table, config.found).map((message) => warning('installation', message)),
    ],
    table,
  };
}

/** The ID of the local server, where the cluster tells it. */
function serverIdFindings(
  { local, serverId }: ServeConfig,
  table: RoutingTable | undefined,
): readonly Finding[] {
  if (local === undefined || table === undefined) return [];
  if (serverId !== undefined) return [ok('server ID', serverId)];
  const known = table.servers.map(({ id, origin }) => `${id} at ${origin ?? 'no address'}`).join(', ');
  const message = `no address of a server leads to ${local.origin}, and no Lease has the name of this host (${known}): give --server-id`;
  return [failed('server ID', message)];
}

async function permissionFindings(config: ServeConfig): Promise<readonly Finding[]> {
  const { serving, namedServing, proxyClient } = config;
  const paths = [
    serving.privateKey.path,
    ...namedServing.map(({ privateKey }) => privateKey.path),
    proxyClient?.privateKey.path,
  ].filter((path) => path !== undefined);
  const check = 'permissions of keys';
  return Promise.all(
    [...new Set(paths)].map(async (path) => {
      const { mode } = await stat(path);
      const text = `${path} has mode ${(mode & 0o777).toString(8).padStart(3, '0')}`;
      // A group may read: Secrets are mounted with fsGroup that way.
      return (mode & 0o027) === 0 ? ok(check, text) : warning(check, `${text}: chmod 600 ${path}`);
    }),
  );
}

/**
 * Looks at every certificate that the configuration names. That each can be read and fits its key was checked when
 * the configuration was read. Pure.
 * @param now milliseconds since the epoch
 */
function certificateFindings(config: ServeConfig, now: number): readonly Finding[] {
  const { serving, namedServing, proxyClient, peerCa, local, clientCa, requestHeader } = config;
  const files: readonly (readonly [string, PemFile | undefined])[] = [
    ['serving certificate', serving.certificate],
    ...namedServing.map((pair) => ['serving certificate', pair.certificate] as const),
    ['front-proxy certificate', proxyClient?.certificate],
    ['CA of peers', peerCa],
    ['CA of the local server', local?.ca],
    ['CA of clients', clientCa],
    ['CA of front proxies', requestHeader?.clientCa],
  ];
  return files.flatMap(([check, file]) => (file === undefined ? [] : validityOf(check, file, now)));
}

function validityOf(check: string, { path, pem }: PemFile, now: number): readonly Finding[] {
  return parseCertificates({ pem, source: path }).map((certificate) => {
    const subject = subjectOf(certificate);
    const notBefore = certificate.validFromDate.getTime();
    const notAfter = certificate.validToDate.getTime();
    return expiryFinding(check, { path, subject, notBefore, notAfter }, now);
  });
}

function expiryFinding(
  check: string,
  { path, subject, notBefore, notAfter }: Omit<ExpiringCertificate, 'name'>,
  now: number,
): Finding {
  const until = new Date(notAfter).toISOString();
  if (notBefore > now) {
    const message = `${subject} in ${path} is not valid before ${new Date(notBefore).toISOString()}: check the clock`;
    return failed(check, message);
  }
  const expiry = expiryOf({ notBefore, notAfter }, now);
  if (expiry === 'expired') {
    return failed(check, `${subject} in ${path} expired at ${until}: renew it`);
  }
  return expiry === undefined
    ? ok(check, `${subject}, until ${until}`)
    : warning(check, `${subject} in ${path} expires at ${until}: renew it`);
}

async function kubeconfigFindings({ embeddedSync }: ServeConfig, now: number): Promise<readonly Finding[]> {
  if (embeddedSync === undefined) return [];
  const check = 'credentials of the kubeconfig';
  try {
    const credentials = await expiringCredentials(embeddedSync);
    return credentials.map((credential) => expiryFinding(check, credential, now));
  } catch (error) {
    return [failed(check, errorMessage(error))];
  }
}

const check = 'snapshot';

/**
 * Opens the stored snapshot as the router would at start. It is only read: what a running router is just writing
 * beside it stays alone.
 */
async function snapshotFindings(config: ServeConfig, context: CommandContext): Promise<RouterFindings> {
  const { featureGateEnabled, settings, embeddedSync } = config;
  const { file } = settings.snapshot;
  const only = (result: Finding['result'], message: string): RouterFindings => ({
    findings: [{ check, result, message }],
    table: undefined,
  });
  if (!featureGateEnabled) return only('ok', 'the feature gate is off: none is needed');
  if (file === undefined) {
    return only('warning', 'none is kept across restarts: set --snapshot-file');
  }
  try {
    const { table } = await readSnapshotInput(context, '--snapshot-file', file, settings.snapshot.keysFile);
    return {
      findings: [
        ageOf(table, context.clock(), embeddedSync !== undefined),
        ...ownServerWarnings(table, localServerIdOf(config, table) ?? config.serverId).map((message) =>
          failed(check, message),
        ),
      ],
      table,
    };
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    const isMissing = errorCode(error.cause) === 'ENOENT';
    return isMissing
      ? only(
          'warning',
          `${file} is not there: ${embeddedSync === undefined ? 'the sync job has not pushed to this router' : 'the router has not read the cluster'} yet`,
        )
      : only('failed', `${error.lines.join('; ')}: the router would begin without a snapshot`);
  }
}

/** Milliseconds until a cluster that does not answer is given up. */
const readingTimeout = 30_000;

/** Reads the cluster as the router would at its start, where it does: without a snapshot no peer is known. */
async function clusterFindings(config: ServeConfig): Promise<RouterFindings> {
  if (config.embeddedSync === undefined || !config.featureGateEnabled) {
    return { findings: [], table: undefined };
  }
  const check = 'cluster';
  try {
    const { snapshot, readings, warnings } = await readClusterOnce(
      config,
      AbortSignal.timeout(readingTimeout),
    );
    const unread = [...readings].flatMap(([id, reading]): Finding[] =>
      reading.ok ? [] : [warning(check, `server ${id} could not be read: ${reading.reason}`)],
    );
    const others = warnings.map((message): Finding => warning(check, message));
    if (snapshot === undefined) {
      const message = 'no API server could be read: the router would not become ready';
      return { findings: [failed(check, message), ...unread, ...others], table: undefined };
    }
    const message = `${count(snapshot.servers.length, 'API server')} found`;
    return {
      findings: [ok(check, message), ...unread, ...others],
      table: buildRoutingTable(snapshot),
    };
  } catch (error) {
    return { findings: [failed(check, errorMessage(error))], table: undefined };
  }
}

/** How old the stored snapshot is. Pure. @param isOwn whether the router makes it itself */
export function ageOf(
  table: Pick<RoutingTable, 'generation' | 'createdAt'>,
  now: number,
  isOwn: boolean,
): Finding {
  const { generation, createdAt } = table;
  const text = `generation ${generation}, ${durationText(now - createdAt)} old`;
  if (createdAt > now + 10_000) {
    return warning(check, `${text}: it is from the future, compare the clocks`);
  }
  return !isOld(table, now)
    ? ok(check, text)
    : warning(
        check,
        `${text}: ${isOwn ? 'does the router run, and can it read the cluster?' : 'does the sync job run, and push here?'}`,
      );
}
