import { createHash } from 'node:crypto';
import type { FoundSetting, SettingChange, SettingsState } from '../../own-paths/status/setting-change.ts';
import type { ProcessFacts } from '../../own-paths/z-pages.ts';
import { canonicalJson } from '../../runtime/canonical-json.ts';
import {
  type AddressPolicy,
  type AddressPolicyOptions,
  createAddressPolicy,
} from '../../snapshot/addresses/address-policy.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import { maskFields } from '../exchange/mask-secrets.ts';

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
  /**
   * Checks everything as at the start; flags still win over the file.
   * @param texts what files hold now, by path. Others are read.
   * @throws {Error} with every error, each with its line and its path where it has one.
   */
  read(texts: ReadonlyMap<string, string>): Promise<ConfigurationReading>;
}

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

/** What this process tells about itself under `/statusz` and `/flagz`. */
export function processFacts({ commandLine }: Pick<ServeConfig, 'commandLine'>): ProcessFacts {
  const masked = Object.entries(maskFields(commandLine.flags)).map(([name, value]) => [name, String(value)]);
  return {
    version: commandLine.version,
    nodeVersion: process.version,
    startedAt: performance.timeOrigin,
    configHash: `sha256:${createHash('sha256').update(canonicalJson(commandLine.flags)).digest('hex')}`,
    flags: Object.fromEntries(masked),
  };
}

/** The address policy of the moment, for those who ask it anew for each snapshot and each dial. */
export class LiveAddressPolicy implements AddressPolicy {
  #current: AddressPolicy;

  /** @throws as `createAddressPolicy`. */
  constructor(options: AddressPolicyOptions) {
    this.#current = createAddressPolicy(options);
  }

  get allowLoopbackPeers(): boolean {
    return this.#current.allowLoopbackPeers;
  }

  get allowedCidrs(): AddressPolicy['allowedCidrs'] {
    return this.#current.allowedCidrs;
  }

  get allowedPorts(): AddressPolicy['allowedPorts'] {
    return this.#current.allowedPorts;
  }

  replace(policy: AddressPolicy): void {
    this.#current = policy;
  }
}
