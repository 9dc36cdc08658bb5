import { readFileSync } from 'node:fs';
import { foreignIssuer, parseAssertionKeys } from '../../identity/assertion/assertion-keys.ts';
import { describeKeysIssue } from '../../snapshot/describe-keys-issue.ts';
import { readAuthenticationConfiguration } from '../authentication-configuration.ts';
import type { ServeConfig } from '../serve-config.ts';
import type { ConfigurationUsers } from './apply-configuration.ts';
import type { FileGroup, WatchedFile } from './file-group.ts';

type IdentityUsers = Pick<ConfigurationUsers, 'live' | 'credentials' | 'handlers' | 'buildHandlers' | 'jwt'>;

/** The files that say whose word about a caller counts. They go by the checks of the start. */
export function identityFileGroups(config: ServeConfig, users: IdentityUsers): readonly FileGroup[] {
  return [...assertionKeys(config, users), ...authenticationConfiguration(config, users)];
}

/** A key that is gone is believed no longer from the next request on. */
function assertionKeys(
  config: ServeConfig,
  { live, credentials, handlers, buildHandlers }: IdentityUsers,
): FileGroup[] {
  const { assertionKeys: keys } = config.destinationIdentity;
  const { signingKey, assertionIssuer, local, peer } = live.started.destinationIdentity;
  if (keys === undefined) return [];
  const file: WatchedFile = { name: 'assertion-keys', path: keys.path, text: keys.text };
  const group: FileGroup = {
    name: 'the public keys of other routers',
    files: [file],
    async apply(textOf) {
      const result = await parseAssertionKeys(textOf(file));
      if (!result.ok) {
        const faults = result.issues.map((issue) => describeKeysIssue(file.path, issue));
        throw new TypeError(`--${file.name}: ${faults.join('; ')}`);
      }
      const signs = [local, peer].includes('assertion');
      const kid = signs ? signingKey?.loaded.key.kid : undefined;
      const fault = kid === undefined ? undefined : foreignIssuer(kid, assertionIssuer, result.keys);
      if (fault !== undefined) throw new TypeError(`--${file.name} ${fault}: correct the file`);
      // An OIDC issuer publishes some of them.
      const next = await buildHandlers(config, result.keys);
      credentials.replace({ assertionKeys: result.keys });
      handlers.replace(next);
    },
  };
  return [group];
}

function authenticationConfiguration(config: ServeConfig, { jwt }: IdentityUsers): FileGroup[] {
  const { configurationFile, serviceAccounts } = config.jwt;
  if (configurationFile === undefined) return [];
  const { path } = configurationFile;
  const { text: started } = configurationFile;
  const file: WatchedFile = { name: 'authentication-config', path, text: started, isDocument: true };
  const group: FileGroup = {
    name: 'the issuers of tokens',
    files: [file],
    async apply(textOf) {
      const text = textOf(file);
      const result = await readAuthenticationConfiguration({
        path,
        text,
        disallowedIssuers: serviceAccounts?.issuers ?? [],
        readFile: (named) => readFileSync(named, 'utf8'),
      });
      if (!result.ok) throw new TypeError(`--${file.name}: ${result.faults.join('; ')}`);
      jwt.replace({ issuers: result.issuers, configurationFile: { path, text }, serviceAccounts });
    },
  };
  return [group];
}
