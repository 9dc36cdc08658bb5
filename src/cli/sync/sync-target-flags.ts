import { isBearerToken } from '../../runtime/bearer-token.ts';
import { parseHttpsOrigin } from '../../snapshot/addresses/host-port.ts';
import type { RunSyncOptions } from '../../sync/node/run-sync-options.ts';
import type { SyncFlagValues } from '../flags/sync-flag-groups.ts';

type Targets = Pick<RunSyncOptions, 'routers' | 'routerCertificateAuthorities' | 'routerBearerToken'>;

/** Each of them names somewhere to push to. */
export const targetFlags = ['target', 'worker-target'] as const;

/** Reads where snapshots are pushed to. */
export function readSyncTargets(flags: SyncFlagValues): Targets {
  const targets = flags.list('target', { mayBeBlank: true });
  const workers = flags.list('worker-target', { mayBeBlank: true });
  if (workers.length > 0 && !flags.isGiven('target-token-file')) {
    flags.issue(
      'worker-target',
      '--worker-target needs --target-token-file: a Worker sees no client certificate of yours',
    );
  }
  checkOrigins(flags, 'target', targets);
  checkOrigins(flags, 'worker-target', workers);
  const serverName = flags.text('target-server-name');
  return {
    routerCertificateAuthorities: flags.file('target-ca-file')?.text,
    routerBearerToken: readTargetToken(flags),
    routers: [
      ...targets.map((url) => ({ url, serverName })),
      ...workers.map((url) => ({ url, publicAuthorities: true })),
    ],
  };
}

function checkOrigins(
  flags: SyncFlagValues,
  name: 'target' | 'worker-target',
  entries: readonly string[],
): void {
  for (const entry of entries) {
    const parsed = parseHttpsOrigin(entry);
    if (!parsed.ok) flags.issue(name, `--${name} "${entry}" ${parsed.message}`);
  }
}

/** Read at start, so that a wrong path is an error then, and again for each request, since tokens are rotated. */
function readTargetToken(flags: SyncFlagValues): (() => string) | undefined {
  const name = 'target-token-file';
  const file = flags.file(name);
  if (file === undefined) return undefined;
  const { path, text } = file;
  const wrong = `--${name}: ${path} must hold one token and nothing else`;
  if (!isBearerToken(text.trim())) flags.issue(name, wrong);
  return () => {
    const token = flags.readFile(path).trim();
    if (!isBearerToken(token)) throw new TypeError(wrong);
    return token;
  };
}
