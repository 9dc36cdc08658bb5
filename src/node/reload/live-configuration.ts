import type { FoundSetting, SettingChange, SettingsState } from '../../own-paths/status/setting-change.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';

/** The configuration of the moment: what the router was started with until its file changes. */
export class LiveConfiguration implements SettingsState {
  /** What the router was started with: where settings that take a restart, and what their files held, stay. */
  readonly started: ServeConfig;
  #current: ServeConfig;
  #needsRestart: readonly SettingChange[] = [];

  constructor(started: ServeConfig) {
    this.started = started;
    this.#current = started;
  }

  get current(): ServeConfig {
    return this.#current;
  }

  needsRestart(): readonly SettingChange[] {
    return this.#needsRestart;
  }

  found(): readonly FoundSetting[] {
    return this.#current.commandLine.found;
  }

  /** Everything that reads it later goes by `config`; what has taken a part of it has its own notification. */
  replace(config: ServeConfig): void {
    this.#current = config;
  }

  /** What the file says and only a restart can take into use; replaces what was noted before. */
  noteNeedsRestart(changes: readonly SettingChange[]): void {
    this.#needsRestart = changes;
  }
}
