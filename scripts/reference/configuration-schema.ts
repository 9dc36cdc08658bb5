import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { type ConfigurationKind, configurationVersion } from '../../src/cli/settings/configuration-file.ts';
import { routerConfiguration } from '../../src/node/configuration/router-settings.ts';
import {
  descriptionOf,
  isSection,
  isSetting,
  type SectionSchema,
} from '../../src/node/configuration/setting.ts';

const chartSchema = 'deploy/helm/mixed-version-proxy/values.schema.json';

/** The chart's own schema, with that of the configuration in the place of `gateway.configuration`, of which a part will do. */
export function chartValuesSchema(): string {
  const values = JSON.parse(readFileSync(join(import.meta.dirname, '../..', chartSchema), 'utf8'));
  const { $schema: _, required: __, ...part } = JSON.parse(configurationJsonSchema(routerConfiguration));
  values.properties.gateway.properties.configuration = part;
  return JSON.stringify(values, undefined, 2);
}

/** The schema that editors check a configuration file with, and complete the file from. */
export function configurationJsonSchema({ kind, settings }: ConfigurationKind): string {
  const header = { apiVersion: v.literal(configurationVersion), kind: v.literal(kind) };
  const document = v.strictObject({ ...header, ...described(settings) });
  // JSON Schema has no words for some checks, such as how a duration is read: those are left to the program.
  const schema = toJsonSchema(document, { errorMode: 'ignore' });
  return JSON.stringify({ ...schema, title: kind }, undefined, 2);
}

function described({ entries }: SectionSchema): v.ObjectEntries {
  const part = (schema: v.GenericSchema): v.GenericSchema => {
    if (isSection(schema)) return v.strictObject(described(schema));
    if (!isSetting(schema)) return schema;
    return v.pipe(schema.takes.schema, v.description(`${descriptionOf(schema.about)} As --${schema.flag}.`));
  };
  return Object.fromEntries(Object.entries(entries).map(([key, schema]) => [key, v.optional(part(schema))]));
}
