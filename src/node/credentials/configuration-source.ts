import type { SettingChange } from '../../own-paths/status/setting-change.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';

/** Where a router's configuration comes from: flags, a configuration file, and the files that both name. */
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
   * The settings of the start, with what the files that they name hold now, checked as at the start.
   * @param texts by path. Others are read.
   * @throws {Error} with every error
   */
  read(texts: ReadonlyMap<string, string>): Promise<ServeConfig>;
  /**
   * What a restart would change, now that the configuration file says something else.
   * @throws {Error} with every error that a start with this text would have, each with its line and its path
   */
  changes(text: string): Promise<readonly SettingChange[]>;
}
