import * as v from 'valibot';
import { type ConfigurableFlagGroup, descriptionOf, type FlagDefinition } from '../flags/flag.ts';
import { type ServeFlagName, serveFlagGroups } from '../flags/serve-flags.ts';

/** The version of the file format; of other kinds of this program, too. */
export const configurationVersion = 'mixed-version-proxy/v1alpha1';

/** A key that holds others, each a flag or another one that holds others. */
export interface ConfigurationSection<Name extends string = string> {
  readonly members: ReadonlyMap<string, FlagDefinition<Name> | ConfigurationSection<Name>>;
}

/** A kind of configuration file, with its keys other than apiVersion and kind as they nest. */
export interface ConfigurationKind<Name extends string = string> extends ConfigurationSection<Name> {
  readonly kind: string;
}

/** Of `serve`. */
export const routerConfiguration: ConfigurationKind<ServeFlagName> = configurationKind(
  'RouterConfiguration',
  serveFlagGroups,
);

/**
 * Makes a kind of configuration file from the flags of a command.
 * @throws {TypeError} when two flags claim one key, or a key that holds others.
 */
export function configurationKind<Name extends string>(
  kind: string,
  groups: readonly ConfigurableFlagGroup<Name>[],
): ConfigurationKind<Name> {
  const flags = groups.flatMap((group) => group.flags.map((flag) => ({ flag, path: flag.key.split('.') })));
  return { kind, ...sectionOf(flags) };
}

interface FlagAt<Name extends string> {
  readonly flag: FlagDefinition<Name>;
  /** Its key, as far as it leads on from the section. */
  readonly path: readonly string[];
}

function sectionOf<Name extends string>(flags: readonly FlagAt<Name>[]): ConfigurationSection<Name> {
  const byKey = Map.groupBy(flags, ({ path: [key = ''] }) => key);
  const memberOf = (all: readonly FlagAt<Name>[]): FlagDefinition<Name> | ConfigurationSection<Name> => {
    const inner = all.flatMap(({ flag, path: [, ...path] }) => (path.length === 0 ? [] : [{ flag, path }]));
    if (inner.length === all.length) return sectionOf(inner);
    const [only, second] = all;
    if (only !== undefined && second === undefined) return only.flag;
    throw new TypeError(`several flags under one key: ${all.map(({ flag }) => flag.key).join(', ')}`);
  };
  return { members: new Map([...byKey].map(([key, all]) => [key, memberOf(all)])) };
}

/** The whole document as one schema, for the JSON Schema that editors check a file with. */
export function configurationSchema(configuration: ConfigurationKind) {
  return v.strictObject({
    apiVersion: v.literal(configurationVersion),
    kind: v.literal(configuration.kind),
    ...entriesOf(configuration),
  });
}

function entriesOf({ members }: ConfigurationSection): v.ObjectEntries {
  return Object.fromEntries(
    [...members].map(([key, member]) => [
      key,
      v.optional('members' in member ? v.strictObject(entriesOf(member)) : describedSchema(member)),
    ]),
  );
}

function describedSchema(flag: FlagDefinition): v.GenericSchema {
  const schema = flag.value.configured;
  const description = `${descriptionOf(flag)} As --${flag.name}.`;
  return v.pipe(schema, v.description(description));
}
