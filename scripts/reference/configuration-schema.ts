import { toJsonSchema } from '@valibot/to-json-schema';
import { type ConfigurationKind, configurationSchema } from '../../src/cli/config/configuration-kind.ts';

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
