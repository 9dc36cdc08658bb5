import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type * as v from 'valibot';
import { file, listOfWhole, setting, text } from '../../node/configuration/setting-types.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { parseHttpsOrigin } from '../../snapshot/addresses/addresses.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';

export const routerConnectionSettings = {
  kubeconfig: setting('kubeconfig', file, {
    description:
      'Where the router is, and who asks. Default: the file of the variable KUBECONFIG, else ~/.kube/config.',
  }),
  context: setting('context', text('name'), {
    description: 'Context of --kubeconfig. Default: its current one.',
  }),
  server: setting('server', listOfWhole('https://host:port'), {
    description:
      'The router, in place of the server of --kubeconfig. Several times: several routers, all asked with the same credentials.',
  }),
  tlsServerName: setting('tls-server-name', text('name'), {
    description: "Name that the router's certificate must carry. Default: the host of --server.",
  }),
};

type RouterConnectionFlags = v.InferOutput<v.StrictObjectSchema<typeof routerConnectionSettings, undefined>>;

/** How a router is asked. Texts are PEM; `undefined` where there is none. */
export interface RouterConnection {
  /** `https://host:port`. */
  readonly origin: string;
  /** The kubeconfig that names it; `undefined`: `--server` does. */
  readonly from?: string | undefined;
  /** The kubeconfig that the credentials are of. */
  readonly kubeconfig: string;
  /** The name its certificate must carry; default the host. */
  readonly serverName: string | undefined;
  /** Default: the system's own. */
  readonly certificateAuthorities: string | undefined;
  readonly clientCertificate: { readonly certificate: string; readonly key: string } | undefined;
  /** Name, value, name, value, …; with credentials. */
  readonly headers: readonly string[];
}

/**
 * Reads where the routers are, one for each `--server`, and the credentials for all of them.
 * @throws {CommandFailure} exit code 2, one line for every error.
 */
export async function readRouterConnections(
  flags: RouterConnectionFlags,
  context: CommandContext,
): Promise<readonly [RouterConnection, ...RouterConnection[]]> {
  const issues = (flags.server ?? []).flatMap((server) => {
    const parsed = parseHttpsOrigin(server);
    return parsed.ok ? [] : [`--server "${server}" ${parsed.message}`];
  });
  const found = findKubeconfig(flags.kubeconfig, context, issues);
  if (found === undefined) {
    throw new CommandFailure(2, [
      ...issues,
      '--kubeconfig is required, or the variable KUBECONFIG: where the router is, and who asks',
    ]);
  }
  const { loadClusterAccess } = await import('../../node/credentials/cluster-access.ts');
  try {
    const access = await loadClusterAccess({ kubeconfig: found.file, context: flags.context });
    const { server, serverName } = access;
    const shared = {
      ...(await access.credentials()),
      from: flags.server === undefined ? found.file : undefined,
      kubeconfig: found.file,
      serverName: flags.tlsServerName ?? serverName,
    };
    const [origin = server, ...others] = new Set(flags.server);
    if (flags.server === undefined) {
      const parsed = parseHttpsOrigin(origin);
      if (!parsed.ok) issues.push(`the server "${origin}" of ${shared.kubeconfig} ${parsed.message}`);
    }
    if (issues.length > 0) throw new CommandFailure(2, issues);
    return [{ ...shared, origin }, ...others.map((other) => ({ ...shared, origin: other }))];
  } catch (cause) {
    if (cause instanceof CommandFailure) throw cause;
    throw new CommandFailure(2, [...issues, `${found.source}: ${errorMessage(cause)}`], { cause });
  }
}

interface FoundKubeconfig {
  readonly file: string;
  /** For messages: `--kubeconfig`, `KUBECONFIG`, or where the file is usually. */
  readonly source: string;
}

/** True if a kubeconfig is where kubectl looks for one. */
export function isKubeconfigThere(context: Pick<CommandContext, 'environment'>): boolean {
  return findKubeconfig(undefined, context, []) !== undefined;
}

/** The file of the flag, else of the variable KUBECONFIG, else `~/.kube/config` where there is one, as for kubectl. */
function findKubeconfig(
  flag: string | undefined,
  { environment }: Pick<CommandContext, 'environment'>,
  issues: string[],
): FoundKubeconfig | undefined {
  if (flag !== undefined) return { file: flag, source: '--kubeconfig' };
  const { KUBECONFIG: named = '', HOME: home } = environment;
  const [file, ...others] = named.split(delimiter).filter((path) => path !== '');
  if (others.length > 0) {
    issues.push('KUBECONFIG names several files: name one of them with --kubeconfig');
    throw new CommandFailure(2, issues);
  }
  if (file !== undefined) return { file, source: 'KUBECONFIG' };
  const usual = home === undefined ? undefined : join(home, '.kube', 'config');
  return usual !== undefined && existsSync(usual) ? { file: usual, source: '~/.kube/config' } : undefined;
}
