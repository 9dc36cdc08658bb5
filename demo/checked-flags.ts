import { routerConfig, type ServeOptionsResult } from '../src/cli/serve/router-config.ts';
import {
  givenByFlags,
  type RawFlags,
  type ReadTextFile,
  Settings,
} from '../src/cli/settings/read-settings.ts';
import { type RouterFlag, routerSettings } from '../src/node/configuration/router-settings.ts';
import type { HostNetwork } from '../src/node/serving/default-interface.ts';

export type RawServeFlags = RawFlags<RouterFlag>;

interface Surroundings {
  readonly readFile: ReadTextFile;
  /** Default: none, whatever this machine has. */
  readonly network?: HostNetwork;
  /** Milliseconds since the epoch. Default: now. */
  readonly now?: number;
}

/** Result of `serve` for these flags. */
export function validateServeOptions(
  flags: RawServeFlags,
  { readFile, network = { addresses: [], defaultRouteInterfaces: [] }, now = Date.now() }: Surroundings,
): Promise<ServeOptionsResult> {
  const settings = new Settings(routerSettings, [givenByFlags(routerSettings, flags)], readFile);
  return routerConfig(settings, { network, now });
}
