import type { RunSyncOptions } from '../../sync/node/run-sync-options.ts';
import type { GivenSyncFlags } from '../flags/sync-flag-groups.ts';
import type { CommandContext } from '../terminal/command-context.ts';
import { readFlagFile, readFlagOrigin } from '../terminal/flag-files.ts';

/** Flags that deliver to something other than a file, of those that are given. */
export function givenTargetFlags(flags: GivenSyncFlags): string[] {
  const given = [
    ['--target', flags.target],
    ['--worker-target', flags.workerTarget],
    ['--kv-namespace-id', flags.kvNamespaceId],
  ] as const;
  return given.flatMap(([flag, value]) => (value === undefined ? [] : [flag]));
}

type Targets = Pick<
  RunSyncOptions,
  'routers' | 'routerCertificateAuthorities' | 'routerBearerToken' | 'workersKv'
>;

export function readSyncTargets(flags: GivenSyncFlags, context: CommandContext, issues: string[]): Targets {
  const { target = [], workerTarget = [], targetCaFile, targetServerName, targetTokenFile } = flags;
  if (workerTarget.length > 0 && targetTokenFile === undefined) {
    issues.push('--worker-target needs --target-token-file: a Worker sees no client certificate of yours');
  }
  return {
    routerCertificateAuthorities:
      targetCaFile === undefined
        ? undefined
        : readFlagFile('--target-ca-file', targetCaFile, context, issues),
    routerBearerToken: readToken('--target-token-file', targetTokenFile, context, issues),
    routers: [
      ...target.map((url) => ({
        url: readFlagOrigin('--target', url, issues),
        serverName: targetServerName,
      })),
      ...workerTarget.map((url) => ({
        url: readFlagOrigin('--worker-target', url, issues),
        publicAuthorities: true,
      })),
    ],
    workersKv: readWorkersKv(flags, context, issues),
  };
}

function readWorkersKv(
  flags: GivenSyncFlags,
  context: CommandContext,
  issues: string[],
): NonNullable<Targets['workersKv']> {
  const { kvAccountId, kvNamespaceId, kvTokenFile, kvKey, kvApiUrl } = flags;
  const needed = { '--kv-account-id': kvAccountId, '--kv-namespace-id': kvNamespaceId };
  const apiToken = readToken('--kv-token-file', kvTokenFile, context, issues);
  const given = [kvAccountId, kvNamespaceId, kvTokenFile, kvKey, kvApiUrl];
  if (given.every((value) => value === undefined)) return [];
  const missing = Object.entries({ ...needed, '--kv-token-file': kvTokenFile })
    .filter(([, value]) => value === undefined)
    .map(([flag]) => flag);
  if (missing.length > 0) issues.push(`Workers KV needs ${missing.join(' and ')} as well`);
  if (kvApiUrl !== undefined && !/^https:\/\/./.test(kvApiUrl)) {
    issues.push(`--kv-api-url "${kvApiUrl}" must begin with https://`);
  }
  if (kvAccountId === undefined || kvNamespaceId === undefined || apiToken === undefined) return [];
  return [{ accountId: kvAccountId, namespaceId: kvNamespaceId, key: kvKey, apiToken, apiUrl: kvApiUrl }];
}

/** Read at start, so that a wrong path is an error then, and again for each request, since tokens are rotated. */
function readToken(
  flag: string,
  path: string | undefined,
  context: CommandContext,
  issues: string[],
): (() => string) | undefined {
  if (path === undefined) return undefined;
  const before = issues.length;
  const token = readFlagFile(flag, path, context, issues).trim();
  // What could not stand in a header is no token; the file is not quoted, it may be another secret.
  if (issues.length === before && !/^[\x21-\x7e]+$/.test(token)) {
    issues.push(`${flag}: ${path} must hold one token and nothing else`);
  }
  return () => context.readFile(path).trim();
}
