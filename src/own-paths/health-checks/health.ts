import type { CheckOutcome, ServerReport, WhyNotKnown } from './server-checks.ts';

/** Who asks, as far as a check depends on it. */
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

/** The process runs and responds; kube-apiserver's own first check. */
export const ping: HealthCheck = { name: 'ping', check: () => undefined };

export interface HealthReport {
  readonly healthy: boolean;
  /** The body, in the form of kube-apiserver's health endpoints. */
  readonly body: string;
  readonly failures: readonly { readonly name: string; readonly reason: string }[];
}

interface HealthReportOptions extends Partial<HealthQuestion> {
  readonly verbose: boolean;
  readonly exclude: readonly string[];
  /** Told of each check that was run. */
  readonly onChecked?: ((name: string, healthy: boolean) => void) | undefined;
  /** What API servers say of their own checks. Default: they were not asked. */
  readonly servers?: readonly ServerReport[] | undefined;
}

/**
 * Runs the checks and words the result as kube-apiserver does (k8s.io/apiserver pkg/server/healthz): `ok`, or
 * one line a check when asked for or when one fails, without reasons, which may name internals.
 *
 * Beside them stand the checks of the API servers, where they were asked: those of the local one under their own names,
 * those of several together, where a check counts as failed only if it fails wherever it was run. They change nothing
 * about the result, which is the same for a question that is not verbose; but a server that passes without the checks
 * that are excluded is a healthy server.
 *
 * @param endpoint `livez`, `readyz` or `healthz`
 */
export function reportHealth(
  endpoint: string,
  checks: readonly HealthCheck[],
  options: HealthReportOptions,
): HealthReport {
  const lines: string[] = [];
  const failures: { name: string; reason: string }[] = [];
  const { servers = [] } = options;
  const theirs = checksOfServers(servers);
  const ownNames = new Set(checks.map(({ name }) => name));
  const passesWithExclusions =
    [...theirs].some(([name, outcome]) => outcome === 'excluded' && !ownNames.has(name)) &&
    servers.some(({ result }) => result === 'passed');
  for (const { name, check, warning } of checks) {
    const ofServers = theirs.get(name);
    theirs.delete(name);
    if (options.exclude.includes(name)) {
      lines.push(`[+]${name} excluded: ok`);
      continue;
    }
    const own = check({ byPeer: options.byPeer ?? false });
    options.onChecked?.(name, own === undefined);
    const reason = name === serversCheckName && passesWithExclusions ? undefined : own;
    if (reason === undefined) {
      lines.push(ofServers === 'failed' ? failedLine(name) : `[+]${name} ok`);
    } else {
      lines.push(failedLine(name));
      failures.push({ name, reason });
    }
    const doubt = warning?.();
    if (doubt !== undefined) lines.push(`warn: ${name}: ${doubt}`);
  }
  for (const [name, outcome] of theirs) lines.push(lineOf(name, outcome));
  lines.push(...linesOfServers(endpoint, servers));
  const unknown = options.exclude.filter((name) => !ownNames.has(name) && theirs.get(name) !== 'excluded');
  if (unknown.length > 0) {
    const names = unknown.map((name) => JSON.stringify(name)).join(',');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  const healthy = failures.length === 0;
  if (healthy && !options.verbose) return { healthy, body: 'ok', failures };
  lines.push(healthy ? `${endpoint} check passed` : `${endpoint} check failed`);
  return { healthy, body: `${lines.join('\n')}\n`, failures };
}

/** See `serversCheck`: whether there is a server that can be used. */
export const serversCheckName = 'servers';

function failedLine(name: string): string {
  return `[-]${name} failed: reason withheld`;
}

function lineOf(name: string, outcome: CheckOutcome): string {
  if (outcome === 'failed') return failedLine(name);
  return outcome === 'ok' ? `[+]${name} ok` : `[+]${name} excluded: ok`;
}

function checksOfServers(servers: readonly ServerReport[]): Map<string, CheckOutcome> {
  const united = new Map<string, CheckOutcome>();
  for (const { checks } of servers) {
    for (const [name, outcome] of checks) {
      const known = united.get(name);
      if (known === undefined || known === 'failed') united.set(name, outcome);
    }
  }
  return united;
}

const reasons: Readonly<Record<WhyNotKnown, string>> = {
  unreachable: 'it cannot be reached',
  hidden: 'not to this caller',
  late: 'no response in time',
  unknown: 'no response that names them',
};

/** What the lines of the checks do not say: which of several servers fails or is silent, and that it changes nothing. */
function linesOfServers(endpoint: string, servers: readonly ServerReport[]): string[] {
  return servers.flatMap(({ serverId, result, checks }) => {
    const who = serverId === undefined ? 'the API server' : `API server ${serverId}`;
    if (result === 'passed') return serverId === undefined ? [] : [`[+]server/${serverId} ok`];
    if (result !== 'failed') {
      return [`warn: ${who} did not show its ${endpoint} checks: ${reasons[result]}`];
    }
    const failed = [...checks].flatMap(([name, outcome]) => (outcome === 'failed' ? [name] : []));
    return [`warn: ${who} failed its own ${endpoint} checks: ${failed.join(',')}`];
  });
}
