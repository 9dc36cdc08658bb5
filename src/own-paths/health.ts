import type { Context, MiddlewareHandler } from 'hono';
import { Hono } from 'hono/tiny';
import type { MixedVersionProxyOptions } from '../proxy/options.ts';
import { rerouteMarkHeader } from '../request/headers.ts';
import type { HandlerEnvironment } from '../request/inbound.ts';
import { type Logger, silentLogger } from '../runtime/logger.ts';
import type { ServerBook } from '../servers/server-book.ts';
import { refusedAddressesBrief } from '../snapshot/receiving/refused-addresses.ts';
import { lacksOwnServer, oldSnapshotWarnings, type RouterStatusOptions } from './status/router-status.ts';
import type { EmbeddedSyncStatus } from './status/status-sources.ts';

/** As in the path, and as in the `type` of Kubernetes' health metrics. */
export type HealthEndpoint = 'livez' | 'readyz' | 'healthz';

interface HealthEndpointsOptions {
  readonly livez: readonly HealthCheck[];
  /** Can it do its work. `/healthz` is the same. */
  readonly readyz: readonly HealthCheck[];
  /** Stands before each of them. Default: nothing does. */
  readonly accept?: MiddlewareHandler<HandlerEnvironment> | undefined;
  readonly logger?: Logger;
}

/** Open to everyone. A path of a check that the router does not have is none of these. */
export function healthEndpoints(options: HealthEndpointsOptions): Hono<HandlerEnvironment> {
  const { livez, readyz, logger = silentLogger, accept = openToEveryone } = options;
  const app = new Hono<HandlerEnvironment>();
  for (const [endpoint, checks] of [
    ['livez', livez],
    ['readyz', readyz],
    ['healthz', readyz],
  ] as const) {
    app.get(`/${endpoint}`, accept, (context) => {
      const verbose = context.req.query('verbose') !== undefined;
      const exclude = context.req.queries('exclude') ?? [];
      const options = { verbose, exclude, byPeer: isMarked(context) };
      return respond(endpoint, reportHealth(endpoint, checks, options), logger);
    });
    for (const check of checks) {
      app.get(`/${endpoint}/${check.name}`, accept, (context) => {
        const options = { verbose: false, exclude: [], byPeer: isMarked(context) };
        return respond(endpoint, reportHealth(endpoint, [check], options), logger);
      });
    }
  }
  return app;
}

export const openToEveryone: MiddlewareHandler<HandlerEnvironment> = (_context, next) => next();

/** Believed from everyone: all that it changes is which question gets a response. */
function isMarked(context: Context<HandlerEnvironment>): boolean {
  return context.req.header(rerouteMarkHeader) === 'true';
}

function respond(endpoint: string, { healthy, body, failures }: HealthReport, logger: Logger): Response {
  if (!healthy) logger.debug({ endpoint, failures }, 'A health check failed');
  return new Response(body, {
    status: healthy ? 200 : 500,
    headers: {
      'cache-control': 'no-cache, private',
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
    },
  });
}

export interface RouterHealthOptions
  extends Pick<MixedVersionProxyOptions, 'enabled' | 'clock'>,
    Omit<ServersCheckOptions, 'health'>,
    Pick<RouterStatusOptions, 'embeddedSync' | 'routingTable'> {
  /** Default: no server is probed, and none makes the router unready. */
  readonly health?: ServersCheckOptions['health'] | undefined;
  readonly isShuttingDown?: (() => boolean) | undefined;
}

export function routerHealthChecks(
  options: RouterHealthOptions,
): Readonly<Record<HealthEndpoint, readonly HealthCheck[]>> {
  const { health, isShuttingDown } = options;
  const readyz = [
    ping,
    snapshotCheck(options),
    ...(health === undefined ? [] : [serversCheck({ ...options, health })]),
    ...(isShuttingDown === undefined ? [] : [shutdownCheck(isShuttingDown)]),
  ];
  return { livez: [ping], readyz, healthz: readyz };
}

interface ServersCheckOptions extends Pick<MixedVersionProxyOptions, 'local'> {
  readonly health: Pick<ServerBook, 'isUp' | 'whyNot' | 'reports'>;
}

/**
 * Ready while a server that this router could use is healthy: any of them in the gateway form; else the local one, or one
 * that takes its place.
 *
 * A peer that asks is told of the local server alone: with routers that count each other, a control plane whose API servers
 * are all down would be ready for ever. While what it sends is refused, it is told so.
 */
export function serversCheck(options: ServersCheckOptions): HealthCheck {
  const { health } = options;
  return {
    name: 'servers',
    check({ byPeer }) {
      const serverId = options.local?.id;
      const missing = serverId === undefined ? undefined : health.whyNot(serverId);
      const refusesPeers = missing !== undefined && missing !== 'unverified';
      const peersCount = serverId === undefined || !byPeer;
      const reports = health.reports();
      // A stored snapshot may be of before an upgrade. A peer that asks has tried the other servers itself.
      const tries = peersCount ? reports : reports.filter(({ id }) => id === serverId);
      const unconfirmed = tries.filter(
        ({ reason }) => reason === 'KnowledgeOutdated' || reason === 'SnapshotOutdated',
      );
      if (unconfirmed.length > 0)
        return `what the stored snapshot says is not confirmed yet: ${unconfirmed.map(({ id, status }) => `${id} is ${status}`).join(', ')}`;
      if (serverId !== undefined && health.isUp(serverId) && !(byPeer && refusesPeers)) return undefined;
      // One that was started with this router may refuse everything for a while: peers take its place once that is known.
      const isLocalUnheard = reports.some(({ id, isHeard }) => id === serverId && !isHeard);
      if (peersCount && !isLocalUnheard && reports.some(({ isUp }) => isUp)) return undefined;
      return peersCount
        ? 'no API server is healthy: all are down, or have not responded to a probe yet'
        : 'the local API server is not healthy: it is down, or has not responded to a probe yet';
    },
  };
}

/** So that load balancers take it out while it still serves (kube-apiserver's `/readyz/shutdown`). */
function shutdownCheck(isShuttingDown: () => boolean): HealthCheck {
  return {
    name: 'shutdown',
    check: () => (isShuttingDown() ? 'the process is shutting down' : undefined),
  };
}

/**
 * An old snapshot is a warning: a sync job that stopped must not take every router of the control plane out of the load
 * balancer at once.
 */
function snapshotCheck(options: RouterHealthOptions): HealthCheck {
  const { routingTable, enabled = true, clock = Date.now, embeddedSync } = options;
  return {
    name: 'snapshot',
    check() {
      if (!enabled) return undefined;
      if (routingTable.current() !== undefined) return undefined;
      return `there has been no snapshot yet: ${whyThereIsNone(embeddedSync?.())}`;
    },
    warning() {
      const table = routingTable.current();
      if (!enabled || table === undefined) return undefined;
      const warnings = oldSnapshotWarnings(table, clock(), embeddedSync !== undefined);
      warnings.push(...(routingTable.concerns?.() ?? []).map(({ brief }) => brief));
      const refused = embeddedSync?.().refusedAddresses.length ?? 0;
      if (refused > 0) warnings.push(refusedAddressesBrief(refused));
      if (lacksOwnServer(table, options.local?.id)) {
        warnings.push(
          'the snapshot has no server with the ID of the local one: the status names those it has',
        );
      }
      return warnings.length === 0 ? undefined : warnings.join('; ');
    },
  };
}

function whyThereIsNone(reading: EmbeddedSyncStatus | undefined): string {
  if (reading === undefined) return 'is the sync job running?';
  const [first = 'the cluster is being read'] = reading.warnings;
  return first;
}

interface HealthQuestion {
  /** A peer asks: the local server would have to serve all that it sends here. */
  readonly byPeer: boolean;
}

/** One named health check: `undefined` when fine, else why not (for logs; clients see that it is withheld). */
export interface HealthCheck {
  readonly name: string;
  check(question: HealthQuestion): string | undefined;
  /** A warning, whether the check passes or not; anyone sees it with `?verbose`, so it has no details. */
  warning?(): string | undefined;
}

export const ping: HealthCheck = { name: 'ping', check: () => undefined };

interface HealthReport {
  readonly healthy: boolean;
  readonly body: string;
  readonly failures: readonly { readonly name: string; readonly reason: string }[];
}

interface HealthReportOptions extends Partial<HealthQuestion> {
  readonly verbose: boolean;
  readonly exclude: readonly string[];
}

/**
 * Runs the checks and words the result as kube-apiserver does (k8s.io/apiserver pkg/server/healthz): `ok`, or
 * one line a check when asked for or when one fails, without reasons, which may name internals.
 * @param endpoint `livez`, `readyz` or `healthz`
 */
export function reportHealth(
  endpoint: string,
  checks: readonly HealthCheck[],
  options: HealthReportOptions,
): HealthReport {
  const lines: string[] = [];
  const failures: { name: string; reason: string }[] = [];
  for (const { name, check, warning } of checks) {
    if (options.exclude.includes(name)) {
      lines.push(`[+]${name} excluded: ok`);
      continue;
    }
    const reason = check({ byPeer: options.byPeer ?? false });
    lines.push(reason === undefined ? `[+]${name} ok` : `[-]${name} failed: reason withheld`);
    if (reason !== undefined) failures.push({ name, reason });
    const doubt = warning?.();
    if (doubt !== undefined) lines.push(`warn: ${name}: ${doubt}`);
  }
  const unknown = options.exclude.filter((excluded) => !checks.some(({ name }) => name === excluded));
  if (unknown.length > 0) {
    const names = unknown.map((name) => JSON.stringify(name)).join(',');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  const healthy = failures.length === 0;
  if (healthy && !options.verbose) return { healthy, body: 'ok', failures };
  lines.push(healthy ? `${endpoint} check passed` : `${endpoint} check failed`);
  return { healthy, body: `${lines.join('\n')}\n`, failures };
}
