import { maskText } from '../../node/exchange/mask-secrets.ts';
import type { FoundSetting } from '../../own-paths/status/status-sources.ts';
import type { ConfiguredOptions } from '../config/configured-options.ts';
import { type RawServeOptions, type ServeFlagName, serveFlags } from '../flags/serve-flags.ts';

/** Every setting that is not left at its default, and where its value comes from. Pure. */
export function settingsInUse(
  flags: RawServeOptions,
  configured: ConfiguredOptions<ServeFlagName> | undefined,
  found: readonly FoundSetting[],
): readonly FoundSetting[] {
  return serveFlags.flatMap(({ name }) => {
    const flag = `--${name}`;
    const setting = (values: readonly string[], source: string) => [
      { flag, value: maskText(values.join(',')), source },
    ];
    const [given, inFile] = [flags[name], configured?.raw[name]];
    if (given !== undefined) return setting(given, 'given as a flag');
    if (configured !== undefined && inFile !== undefined) {
      const { line, path } = configured.origins.get(flag) ?? { line: 1, path: '' };
      return setting(inFile, `${path} in ${configured.file}:${line}`);
    }
    return found.filter((each) => each.flag === flag);
  });
}

/** What `--dry-run` prints of a router that could start. */
export function dryRunReport(settings: readonly FoundSetting[], warnings: number): string {
  return [
    warnings === 0
      ? 'nothing is wrong: the router can start with this configuration'
      : `the router can start with this configuration; see the ${warnings === 1 ? 'warning' : `${warnings} warnings`}`,
    ...settings.map(({ flag, value, source }) => `${flag}=${value}\n    ${source}`),
    '',
  ].join('\n');
}
