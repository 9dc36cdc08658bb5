import * as v from 'valibot';
import { type RemovedFlag, removedServeFlags } from '../flags/deprecated-flags.ts';
import {
  type ConfigurableFlagGroup,
  deprecationNotice,
  descriptionOf,
  type FlagDefinition,
} from '../flags/flag.ts';
import { type ServeFlagName, serveFlagGroups } from '../flags/serve-flags.ts';
import { type SyncFlagName, syncFlagGroups } from '../flags/sync-flag-groups.ts';

/** The version of the file format; of other kinds of this program, too. */
export const configurationVersion = 'mixed-version-proxy/v1alpha1';

/** A key that holds a value. */
export interface ConfigurationField<Name extends string = string> {
  readonly flag: FlagDefinition<Name>;
}

/** A key that holds others. */
export interface ConfigurationSection<Name extends string = string> {
  readonly members: Members<Name>;
}

type Members<Name extends string> = ReadonlyMap<
  string,
  ConfigurationField<Name> | ConfigurationSection<Name>
>;

/** A kind of configuration file, with its keys other than apiVersion and kind as they nest. */
export interface ConfigurationKind<Name extends string = string> extends ConfigurationSection<Name> {
  readonly kind: string;
  /** Whose keys are gone. */
  readonly removed: readonly RemovedFlag[];
}

/** Of `serve`. */
export const routerConfiguration: ConfigurationKind<ServeFlagName> = configurationKind(
  'RouterConfiguration',
  serveFlagGroups,
  removedServeFlags,
);

/** Of `sync`. */
export const syncConfiguration: ConfigurationKind<SyncFlagName> = configurationKind(
  'SyncConfiguration',
  syncFlagGroups,
);

/**
 * Makes a kind of configuration file from the flags of a command.
 * @throws {TypeError} when two flags claim one key, or a key that holds others.
 */
export function configurationKind<Name extends string>(
  kind: string,
  groups: readonly ConfigurableFlagGroup<Name>[],
  removed: readonly RemovedFlag[] = [],
): ConfigurationKind<Name> {
  const members: MutableMembers<Name> = new Map();
  for (const flag of groups.flatMap(({ flags }) => flags)) {
    const path = flag.key.split('.');
    const key = path.pop() ?? '';
    let section = members;
    for (const name of path) section = subsection(section, name);
    if (section.has(key)) throw new TypeError(`two flags under the key ${flag.key}`);
    section.set(key, { flag });
  }
  return { kind, removed, members };
}

type MutableMembers<Name extends string> = Map<string, ConfigurationField<Name> | MutableSection<Name>>;

interface MutableSection<Name extends string> {
  readonly members: MutableMembers<Name>;
}

function subsection<Name extends string>(members: MutableMembers<Name>, name: string): MutableMembers<Name> {
  const known = members.get(name);
  if (known === undefined) {
    const made: MutableSection<Name> = { members: new Map() };
    members.set(name, made);
    return made.members;
  }
  if ('flag' in known)
    throw new TypeError(`--${known.flag.name} stands under a key that holds others: ${name}`);
  return known.members;
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
      v.optional('flag' in member ? describedSchema(member) : v.strictObject(entriesOf(member))),
    ]),
  );
}

function describedSchema({ flag }: ConfigurationField): v.GenericSchema {
  const schema = flag.value.configured;
  const description = `${descriptionOf(flag)} As --${flag.name}.`;
  if (flag.deprecated === undefined) return v.pipe(schema, v.description(description));
  const notice = deprecationNotice(flag.deprecated);
  return v.pipe(schema, v.metadata({ description: `${description} ${notice}`, deprecated: true }));
}
