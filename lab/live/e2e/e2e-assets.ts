import { basename } from 'node:path';
import { assetsOfEnvironment, isExecutable, type LiveAssets, listDirectory } from '../cluster/assets.ts';
import { kubectls } from '../live-suite.ts';

/** The binaries of a comparison by Kubernetes' own tests. */
export interface E2eAssets extends LiveAssets {
  /** `e2e.test`, of the newest server's version. */
  readonly e2eTest: string;
  /** kube-controller-manager; without it fewer tests pass anywhere. */
  readonly controllerManager: string | undefined;
  readonly kubectl: string;
}

export const e2eAssetsGuide = [
  "  TEST_ASSET_E2E_TEST=<path>                         Kubernetes' e2e.test; default: e2e.test or e2e.test-<version> in the directory",
  '  TEST_ASSET_KUBE_CONTROLLER_MANAGER=<path>          default: kube-controller-manager[-<version>] in the directory; may be left out',
].join('\n');

/** Finds what the environment names beside the binaries of the live suite. */
export function findE2eAssets(): E2eAssets | { readonly problems: readonly string[] } {
  const live = assetsOfEnvironment();
  if (!live.ok) return { problems: live.problems };
  const e2eTest = binary('TEST_ASSET_E2E_TEST', 'e2e.test');
  const kubectl = kubectls.at(-1)?.path;
  if (e2eTest === undefined || kubectl === undefined) {
    return { problems: [e2eTest === undefined ? 'no e2e.test' : 'kubectl is not on PATH'] };
  }
  return {
    ...live.assets,
    e2eTest,
    kubectl,
    controllerManager: controllerManagerOfEnvironment(),
  };
}

export function controllerManagerOfEnvironment(): string | undefined {
  return binary('TEST_ASSET_KUBE_CONTROLLER_MANAGER', 'kube-controller-manager');
}

/** The file that a variable names, or the newest one of this name in the directory of binaries. */
function binary(variable: string, name: string): string | undefined {
  const named = process.env[variable];
  if (named !== undefined && named !== '') return isExecutable(named) ? named : undefined;
  return listDirectory(process.env['MIXED_VERSION_PROXY_LIVE_ASSETS'] ?? '')
    .filter((path) => basename(path) === name || basename(path).startsWith(`${name}-`))
    .sort((one, other) => basename(one).localeCompare(basename(other), 'en', { numeric: true }))
    .findLast(isExecutable);
}
