import { toJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { type ConfigurationKind, configurationSchema } from '../../src/cli/config/configuration-kind.ts';
import { configurationVersion } from '../../src/cli/settings/configuration-file.ts';
import {
  descriptionOf,
  isSection,
  isSetting,
  type SectionSchema,
  type SettingSchema,
} from '../../src/node/configuration/setting.ts';

/** What editors check a configuration file with, and complete it from. */
export function configurationJsonSchema(kind: ConfigurationKind): string {
  // Checks behind the types (that numbers are safe, that text is not blank) have no words in JSON Schema.
  const schema = toJsonSchema(configurationSchema(kind), {
    errorMode: 'ignore',
    overrideAction: ({ valibotAction, jsonSchema }) =>
      isMetadata(valibotAction) ? { ...jsonSchema, ...valibotAction.metadata } : undefined,
  });
  return JSON.stringify({ ...schema, title: kind.kind }, undefined, 2);
}

/** The range of a number, which a flag may have and its key is not refused for. */
function isMetadata(action: {
  readonly type: unknown;
}): action is { readonly type: 'metadata'; readonly metadata: object } {
  return action.type === 'metadata';
}

/** The same of a command's settings. */
export function settingsJsonSchema(kind: string, settings: SectionSchema): string {
  const header = { apiVersion: v.literal(configurationVersion), kind: v.literal(kind) };
  const document = v.strictObject({ ...header, ...described(settings) });
  // What JSON Schema has no words for, such as how a duration is read, is left to the program.
  const schema = toJsonSchema(document, { errorMode: 'ignore' });
  return JSON.stringify({ ...schema, title: kind }, undefined, 2);
}

function described({ entries }: SectionSchema): v.ObjectEntries {
  const part = (schema: v.GenericSchema | SectionSchema): v.GenericSchema =>
    isSection(schema)
      ? v.strictObject(described(schema))
      : isSetting(schema)
        ? describedSetting(schema)
        : schema;
  return Object.fromEntries(Object.entries(entries).map(([key, schema]) => [key, v.optional(part(schema))]));
}

function describedSetting({ flag, takes, about }: SettingSchema): v.GenericSchema {
  const described = v.pipe(takes.schema, v.description(`${descriptionOf(about)} As --${flag}.`));
  return described;
}
