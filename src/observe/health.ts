/** Who asks, as far as a check depends on it. */
export interface HealthQuestion {
  /** A peer asks: whatever it sends here, the local server would have to answer. */
  readonly byPeer: boolean;
}

/** One named health check: `undefined` when fine, else why not (for logs; clients see that it is withheld). */
export interface HealthCheck {
  readonly name: string;
  check(question: HealthQuestion): string | undefined;
  /** What somebody should see to, though nothing fails; shown to everyone with `?verbose`, so without details. */
  warning?(): string | undefined;
}

/** The process runs and answers; kube-apiserver's own first check. */
export const ping: HealthCheck = { name: 'ping', check: () => undefined };

export interface HealthReport {
  readonly healthy: boolean;
  /** The body, in the form of kube-apiserver's health endpoints. */
  readonly body: string;
  readonly failures: readonly { readonly name: string; readonly reason: string }[];
}

export interface HealthReportOptions extends Partial<HealthQuestion> {
  readonly verbose: boolean;
  readonly exclude: readonly string[];
  /** Told of each check that was run. */
  readonly onChecked?: ((name: string, healthy: boolean) => void) | undefined;
}

/**
 * Runs the checks and words the result as kube-apiserver does (k8s.io/apiserver pkg/server/healthz): `ok`, or
 * one line a check when asked for or when one fails, without reasons, which may name internals.
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
  for (const { name, check, warning } of checks) {
    if (options.exclude.includes(name)) {
      lines.push(`[+]${name} excluded: ok`);
      continue;
    }
    const reason = check({ byPeer: options.byPeer ?? false });
    options.onChecked?.(name, reason === undefined);
    if (reason === undefined) {
      lines.push(`[+]${name} ok`);
      const doubt = warning?.();
      if (doubt !== undefined) lines.push(`warn: ${name}: ${doubt}`);
    } else {
      lines.push(`[-]${name} failed: reason withheld`);
      failures.push({ name, reason });
    }
  }
  const unknown = options.exclude.filter((name) => !checks.some((check) => check.name === name));
  if (unknown.length > 0) {
    const names = unknown.map((name) => JSON.stringify(name)).join(',');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  const healthy = failures.length === 0;
  if (healthy && !options.verbose) return { healthy, body: 'ok', failures };
  lines.push(healthy ? `${endpoint} check passed` : `${endpoint} check failed`);
  return { healthy, body: `${lines.join('\n')}\n`, failures };
}
