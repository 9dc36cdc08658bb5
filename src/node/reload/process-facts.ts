import { createHash } from 'node:crypto';
import type { ProcessFacts } from '../../own-paths/z-pages.ts';
import { canonicalJson } from '../../runtime/canonical-json.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import { maskFields } from '../exchange/mask-secrets.ts';

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
