import type { ProcessPlace } from '../../observe/z-pages.ts';
import type { ConfigurationSource } from '../reload/configuration-source.ts';
import { shareOfLimits } from './share-of-limits.ts';

/** The configuration file of a router of several processes, as one of them has to read it. */
export function sharedConfigurationSource(
  source: ConfigurationSource | undefined,
  place: ProcessPlace,
): ConfigurationSource | undefined {
  if (source === undefined) return undefined;
  return {
    path: source.path,
    text: source.text,
    async read(text, inUse) {
      const reading = await source.read(text, inUse);
      return { ...reading, config: reading.config && shareOfLimits(reading.config, place) };
    },
  };
}
