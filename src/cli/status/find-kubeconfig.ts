import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { CommandContext } from '../terminal/command-context.ts';

/** Kubeconfig files, in their order, and what names them. */
export interface FoundKubeconfig {
  readonly files: readonly string[];
  /** For messages: `--kubeconfig`, `KUBECONFIG`, or where the file is usually. */
  readonly source: string;
}

/**
 * The kubeconfig that kubectl takes (k8s.io/client-go tools/clientcmd ClientConfigLoadingRules): of the flag, else of the
 * variable KUBECONFIG, whose missing files are left out, else `~/.kube/config` where there is one.
 */
export function findKubeconfig(
  flag: string | undefined,
  { environment }: Pick<CommandContext, 'environment'>,
): FoundKubeconfig | undefined {
  if (flag !== undefined) return { files: [flag], source: '--kubeconfig' };
  const { KUBECONFIG: listed = '', HOME: home } = environment;
  const named = listed.split(delimiter).filter((path) => path !== '');
  if (named.length > 0) {
    const there = named.filter((path) => existsSync(path));
    // None of them: the first is reported as missing.
    return { files: there.length === 0 ? named.slice(0, 1) : there, source: 'KUBECONFIG' };
  }
  const usual = home === undefined ? undefined : join(home, '.kube', 'config');
  return usual !== undefined && existsSync(usual) ? { files: [usual], source: '~/.kube/config' } : undefined;
}
