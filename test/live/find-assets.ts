import { spawnSync } from 'node:child_process';
import { findLiveAssets, type LiveAssetsResult, thisMachine } from './assets.ts';

/** The binaries that this process's environment names. */
export function assetsOfEnvironment(): LiveAssetsResult {
  return findLiveAssets(
    thisMachine((path) => spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 30_000 }).stdout ?? ''),
  );
}
