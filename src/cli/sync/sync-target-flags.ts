import { isBearerToken } from '../../runtime/bearer-token.ts';
import { parseHttpsOrigin } from '../../snapshot/addresses/host-port.ts';
import type { RunSyncOptions } from '../../sync/node/run-sync-options.ts';
import type { SyncFlagValues } from '../flags/sync-flag-groups.ts';

type Targets = Pick<
  RunSyncOptions,
  'routers' | 'routerCertificateAuthorities' | 'routerBearerToken' | 'workersKv'
>;

/** Each of them names somewhere to push to. */
export const targetFlags = ['target', 'worker-target', 'kv-namespace-id'] as const;

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
    routerBearerToken: readToken(flags, 'target-token-file'),
    routers: [
      ...targets.map((url) => ({ url, serverName })),
      ...workers.map((url) => ({ url, publicAuthorities: true })),
    ],
    workersKv: readWorkersKv(flags),
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

const neededForWorkersKv = ['kv-account-id', 'kv-namespace-id', 'kv-token-file'] as const;

function readWorkersKv(flags: SyncFlagValues): NonNullable<Targets['workersKv']> {
  const given = [...neededForWorkersKv, 'kv-key', 'kv-api-url'] as const;
  if (!given.some((name) => flags.isGiven(name))) return [];
  const accountId = flags.text('kv-account-id');
  const namespaceId = flags.text('kv-namespace-id');
  const apiToken = readToken(flags, 'kv-token-file');
  const missing = neededForWorkersKv.filter((name) => !flags.isGiven(name));
  const [first] = missing;
  if (first !== undefined) {
    flags.issue(first, `Workers KV needs ${missing.map((name) => `--${name}`).join(' and ')} as well`);
  }
  const apiUrl = flags.text('kv-api-url');
  if (apiUrl !== undefined && !/^https:\/\/./.test(apiUrl)) {
    flags.issue('kv-api-url', `--kv-api-url "${apiUrl}" must begin with https://`);
  }
  if (accountId === undefined || namespaceId === undefined || apiToken === undefined) return [];
  return [{ accountId, namespaceId, key: flags.text('kv-key'), apiToken, apiUrl }];
}

/** Read at start, so that a wrong path is an error then, and again for each request, since tokens are rotated. */
function readToken(
  flags: SyncFlagValues,
  name: 'target-token-file' | 'kv-token-file',
): (() => string) | undefined {
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
