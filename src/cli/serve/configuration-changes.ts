import { maskText } from '../../node/exchange/mask-secrets.ts';
import type { SettingChange } from '../../own-paths/status/setting-change.ts';
import { entriesOf } from '../flags/flag-values.ts';
import { type RawServeOptions, serveFlags } from '../flags/serve-flags.ts';

/** The settings that differ between two configurations: by their values, not by how they are written. Pure. */
export function configurationChanges(
  before: RawServeOptions,
  after: RawServeOptions,
): readonly SettingChange[] {
  return serveFlags.flatMap((flag) => {
    const [inUse, configured] = [valueIn(flag, before), valueIn(flag, after)];
    if (JSON.stringify(inUse) === JSON.stringify(configured)) return [];
    return {
      flag: `--${flag.name}`,
      key: flag.key,
      inUse: describeValue(inUse),
      configured: describeValue(configured),
    };
  });
}

/** `undefined`: not given, and without a default. A flag that is given blank has a value: an empty one. */
type Value = readonly string[] | undefined;

function valueIn({ name, value, default: usual }: (typeof serveFlags)[number], raw: RawServeOptions): Value {
  const given = raw[name] ?? (usual === undefined ? undefined : [usual]);
  return value.kind === 'list' ? given?.flatMap((each) => entriesOf(value, each)) : given?.slice(-1);
}

function describeValue(value: Value): string {
  return value === undefined ? '(not set)' : maskText(value.join(',')) || '(empty)';
}
