import type { Logger } from '../../observe/logger.ts';
import type { ServeConfig } from '../serve-config.ts';
import { applyConfiguration, type ConfigurationUsers } from './apply-configuration.ts';
import { configurationGroup } from './configuration-group.ts';
import type { ConfigurationSource } from './configuration-source.ts';
import type { CredentialWatch } from './credential-watch.ts';
import type { FileGroup } from './file-group.ts';
import { identityFileGroups } from './identity-file-groups.ts';
import { routerFileGroups } from './router-file-groups.ts';

/**
 * Has every file looked after that a router was started with: the configuration file, where there is one, and what it
 * names. Once it names others, those are looked after in their place.
 */
export function watchRouterFiles(
  users: ConfigurationUsers,
  source: ConfigurationSource | undefined,
  watch: CredentialWatch,
  logger: Logger,
): void {
  const { live } = users;
  const namedBy = (config: ServeConfig): readonly FileGroup[] => [
    ...routerFileGroups(config, users.credentials, users),
    ...identityFileGroups(config, users),
  ];
  const own: FileGroup[] =
    source === undefined
      ? []
      : [
          configurationGroup({
            source,
            live,
            logger,
            async apply(config) {
              await applyConfiguration(config, users);
              watch.setInterval(config.fileCheckInterval);
              watch.replace([...own, ...namedBy(config)]);
            },
          }),
        ];
  for (const group of [...own, ...namedBy(live.current)]) watch.add(group);
}
