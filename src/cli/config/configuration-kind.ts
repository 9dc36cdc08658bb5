import * as v from 'valibot';
import { flagValueType } from '../flag-value-type.ts';
import { type FlagDefinition, type FlagGroup, type ServeFlagName, serveFlagGroups } from '../serve-flags.ts';
import { routerConfigurationKeys } from './router-configuration-keys.ts';
import { valueSchema } from './value-schema.ts';

/** The version of the file format; of other kinds of this program, too. */
export const configurationVersion = 'mixed-version-proxy/v1alpha1';

export const routerConfigurationKind = 'RouterConfiguration';

/** A key that holds a value. */
export interface ConfigurationField {
  readonly flag: FlagDefinition<ServeFlagName>;
  readonly schema: v.GenericSchema;
}

/** A key that holds others. */
export interface ConfigurationSection {
  readonly members: ReadonlyMap<string, ConfigurationField | ConfigurationSection>;
}

/** The keys of a RouterConfiguration beside apiVersion and kind, as they nest; made from the flags of `serve`. */
export const routerConfiguration: ConfigurationSection = sectionOfFlags(serveFlagGroups);

function sectionOfFlags(groups: readonly FlagGroup<ServeFlagName>[]): ConfigurationSection {
  const root = { members: new Map<string, ConfigurationField | ConfigurationSection>() };
  for (const flag of groups.flatMap(({ flags }) => flags)) {
    const path = routerConfigurationKeys[flag.name].split('.');
    const key = path.pop() ?? '';
    let { members } = root;
    for (const name of path) members = subsection(members, name);
    if (members.has(key))
      throw new TypeError(`two flags under the key ${routerConfigurationKeys[flag.name]}`);
    members.set(key, { flag, schema: valueSchema(flagValueType(flag)) });
  }
  return root;
}

type Members = Map<string, ConfigurationField | ConfigurationSection>;

function subsection(members: Members, name: string): Members {
  const known = members.get(name);
  if (known === undefined) {
    const made: Members = new Map();
    members.set(name, { members: made });
    return made;
  }
  if ('flag' in known)
    throw new TypeError(`--${known.flag.name} stands under a key that holds others: ${name}`);
  return known.members as Members;
}

/** The whole document as one schema, for the JSON Schema that editors check a file with. */
export function routerConfigurationSchema() {
  return v.strictObject({
    apiVersion: v.literal(configurationVersion),
    kind: v.literal(routerConfigurationKind),
    ...entriesOf(routerConfiguration),
  });
}

function entriesOf({ members }: ConfigurationSection): v.ObjectEntries {
  return Object.fromEntries(
    [...members].map(([key, member]) => [
      key,
      v.optional(
        'flag' in member
          ? v.pipe(member.schema, v.description(`${member.flag.description} As --${member.flag.name}.`))
          : v.strictObject(entriesOf(member)),
      ),
    ]),
  );
}
