/** A setting that the configuration file gives another value than the one in use. */
export interface SettingChange {
  /** With its dashes. */
  readonly flag: string;
  /** Its key in the configuration file, for example `serving.port`. */
  readonly key: string;
  /** The value in use, without secrets. */
  readonly inUse: string;
  /** What the file says now, without secrets. */
  readonly configured: string;
}

/** For the log, `v1/status` and the status page. */
export function describeSettingChange({ flag, key, inUse, configured }: SettingChange): string {
  return `${flag} (${key}) needs a restart: ${inUse} is in use, the configuration file says ${configured}`;
}

/** What a runtime that reads its configuration again has to say about it. */
export interface SettingsState {
  /** What the configuration file says now and only a restart can take into use. */
  needsRestart(): readonly SettingChange[];
  /** Settings that were detected on this machine or in the cluster. */
  found(): readonly FoundSetting[];
}

/** A setting that was detected, not configured. */
export interface FoundSetting {
  /** With its dashes. */
  readonly flag: string;
  readonly value: string;
  /** Where it was found, for people. */
  readonly source: string;
}
