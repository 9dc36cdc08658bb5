import * as v from 'valibot';
import { maskText } from '../../node/exchange/mask-secrets.ts';
import type { SettingChange } from '../../own-paths/status/setting-change.ts';
import { entriesOf } from '../flags/flag-values.ts';
import { type RawServeOptions, type ServeFlagName, serveFlags } from '../flags/serve-flags.ts';

/** The settings that differ between two configurations, by when the later one counts. */
interface ConfigurationChanges {
  readonly live: readonly SettingChange[];
  readonly needsRestart: readonly SettingChange[];
}

type ServeFlag = (typeof serveFlags)[number];

/** Compares values, not how they are written: a default that is spelled out is no change. Pure. */
export function configurationChanges(before: RawServeOptions, after: RawServeOptions): ConfigurationChanges {
  const live: SettingChange[] = [];
  const needsRestart: SettingChange[] = [];
  for (const flag of serveFlags) {
    const [inUse, configured] = [valueIn(flag, before), valueIn(flag, after)];
    if (JSON.stringify(inUse) === JSON.stringify(configured)) continue;
    (isLive(flag, inUse, configured) ? live : needsRestart).push({
      flag: `--${flag.name}`,
      key: flag.key,
      inUse: describeValue(inUse),
      configured: describeValue(configured),
    });
  }
  return { live, needsRestart };
}

/**
 * What a router that goes by `inUse` goes by once its file says `next`: the new values of the settings that can change
 * while it runs, the old ones of the others. Pure.
 */
export function liveOptions(inUse: RawServeOptions, next: RawServeOptions): RawServeOptions {
  const options: Partial<Record<ServeFlagName, readonly string[]>> = {};
  for (const flag of serveFlags) {
    const [old, other] = [valueIn(flag, inUse), valueIn(flag, next)];
    const values = isLive(flag, old, other) ? next[flag.name] : inUse[flag.name];
    if (values !== undefined) options[flag.name] = values;
  }
  return options;
}

/** `undefined`: not given, and without a default. A flag that is given blank has a value: an empty one. */
type Value = readonly string[] | undefined;

function valueIn({ name, value, default: usual }: ServeFlag, raw: RawServeOptions): Value {
  const given = raw[name] ?? (usual === undefined ? undefined : [usual]);
  return value.kind === 'list' ? given?.flatMap((each) => entriesOf(value, each)) : given?.slice(-1);
}

function isLive(flag: ServeFlag, before: Value, after: Value): boolean {
  const { change } = flag;
  return change === 'at-once' || (change === 'at-once-while-on' && isOn(flag, before) === isOn(flag, after));
}

function isOn(flag: ServeFlag, value: Value): boolean {
  // A duration of zero turns the feature off.
  return value !== undefined && v.safeParse(flag.value.given, value[0] ?? '').output !== 0;
}

function describeValue(value: Value): string {
  return value === undefined ? '(not set)' : maskText(value.join(',')) || '(empty)';
}
