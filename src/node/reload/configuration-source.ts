import type { SettingChange } from '../../own-paths/status/setting-change.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';

/** What flags, configuration file and the files that they name come to now, checked as at the start. */
export interface ConfigurationReading {
  /**
   * What the router is to go by from now on: the settings that can change while it runs as the file has them, the
   * others as it was started with.
   */
  readonly config: ServeConfig;
  /** Settings that take effect with `config`. */
  readonly changed: readonly SettingChange[];
  /** Settings that the file gives another value than the one in use, which takes a restart. */
  readonly needsRestart: readonly SettingChange[];
  /** Warnings: the configuration can be used. */
  readonly warnings: readonly string[];
  /** To be called once `config` is in use. */
  readonly taken: () => void;
}

/** Where a router's configuration comes from. */
export interface ConfigurationSource {
  /** The configuration file as it was read at start; `undefined` without one. */
  readonly file: { readonly path: string; readonly text: string } | undefined;
  /** The manifest that the local server was found in, as it was read at start. Absent: there is none. */
  readonly manifest?:
    | {
        readonly path: string;
        readonly text: string;
        /** @throws {Error} why the router cannot go on by what the manifest says now */
        check(text: string): void;
      }
    | undefined;
  /**
   * Checks everything as at the start; flags still win over the file.
   * @param texts what files hold now, by path. Others are read.
   * @throws {Error} with every error, each with its line and its path where it has one.
   */
  read(texts: ReadonlyMap<string, string>): Promise<ConfigurationReading>;
}
