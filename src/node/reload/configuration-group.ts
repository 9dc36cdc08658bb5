import type { Logger } from '../../observe/logger.ts';
import type { ServeConfig } from '../serve-config.ts';
import type { ConfigurationSource } from './configuration-source.ts';
import type { FileGroup, WatchedFile } from './file-group.ts';
import type { LiveConfiguration } from './live-configuration.ts';

export interface ConfigurationGroupOptions {
  readonly source: ConfigurationSource;
  readonly live: LiveConfiguration;
  /** Takes a checked configuration into use, whole or not at all. */
  readonly apply: (config: ServeConfig) => Promise<void>;
  readonly logger: Logger;
}

/**
 * The configuration file as one of the files that are watched: with a fault nothing changes, and the fault stays
 * visible until the file is mended.
 */
export function configurationGroup({ source, live, apply, logger }: ConfigurationGroupOptions): FileGroup {
  const file: WatchedFile = { name: 'config', path: source.path, text: source.text, isDocument: true };
  return {
    name: 'the configuration file',
    files: [file],
    async apply(textOf) {
      const { config, changed, needsRestart, warnings } = await source.read(
        textOf(file),
        live.current.commandLine.flags,
      );
      if (config !== undefined) await apply(config);
      const before = JSON.stringify(live.needsRestart());
      live.noteNeedsRestart(needsRestart);
      for (const warning of warnings) logger.warn({ path: source.path }, warning);
      if (changed.length > 0) logger.info({ changed }, 'Changed settings are in use');
      if (needsRestart.length > 0 && JSON.stringify(needsRestart) !== before) {
        logger.warn({ settings: needsRestart }, 'Changed settings need a restart to take effect');
      }
    },
  };
}
