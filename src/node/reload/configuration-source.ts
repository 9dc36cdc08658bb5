import type { SettingChange } from '../../observe/setting-change.ts';
import type { ServeConfig } from '../serve-config.ts';

/** What a configuration file says now, checked as at the start. */
export interface ConfigurationReading {
  /**
   * What the router is to go by from now on: the settings that can change while it runs as the file has them, the
   * others as it was started with. `undefined`: nothing of the file can count before a restart.
   */
  readonly config: ServeConfig | undefined;
  /** Settings that take effect with `config`. */
  readonly changed: readonly SettingChange[];
  /** Settings that the file gives another value than the one in use, which takes a restart. */
  readonly needsRestart: readonly SettingChange[];
  /** What is only doubtful. */
  readonly warnings: readonly string[];
}

/** The configuration file that a router was started with. */
export interface ConfigurationSource {
  readonly path: string;
  /** As it was read at start. */
  readonly text: string;
  /**
   * Checks the whole of `text`, with every file that it names, as at the start; flags still win over it.
   * @param inUse the options that the router goes by now, as `ServeConfig.commandLine` has them.
   * @throws {Error} with every fault, each with its line and its path.
   */
  read(text: string, inUse: ServeConfig['commandLine']['flags']): Promise<ConfigurationReading>;
}
