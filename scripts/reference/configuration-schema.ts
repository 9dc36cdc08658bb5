import { toJsonSchema } from '@valibot/to-json-schema';
import { type ConfigurationKind, configurationSchema } from '../../src/cli/config/configuration-kind.ts';

/** What editors check a configuration file with, and complete it from. */
export function configurationJsonSchema(kind: ConfigurationKind): string {
  // Checks behind the types (that numbers are safe, that text is not blank) have no words in JSON Schema.
  const schema = toJsonSchema(configurationSchema(kind), { errorMode: 'ignore' });
  const text = JSON.stringify({ ...schema, title: kind.kind }, null, 2);
  return `${text.replace(listOfTexts, inOneLine)}\n`;
}

// As the formatter of this repository writes JSON.
const listOfTexts = /\[\s+("[^"\n]*"(?:,\s+"[^"\n]*")*)\s+\]/g;

function inOneLine(_list: string, items: string): string {
  return `[${items.replace(/,\s+/g, ', ')}]`;
}
