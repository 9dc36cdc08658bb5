import { toJsonSchema } from '@valibot/to-json-schema';
import { routerConfigurationSchema } from '../../src/cli/config/configuration-kind.ts';

/** deploy/config.schema.json: what editors check a RouterConfiguration with, and complete it from. */
export function configurationJsonSchema(): string {
  // Checks behind the types (that numbers are safe, that text is not blank) have no words in JSON Schema.
  const schema = toJsonSchema(routerConfigurationSchema(), { errorMode: 'ignore' });
  const text = JSON.stringify({ ...schema, title: 'RouterConfiguration' }, null, 2);
  return `${text.replace(listOfTexts, inOneLine)}\n`;
}

// As the formatter of this repository writes JSON.
const listOfTexts = /\[\s+("[^"\n]*"(?:,\s+"[^"\n]*")*)\s+\]/g;

function inOneLine(_list: string, items: string): string {
  return `[${items.replace(/,\s+/g, ', ')}]`;
}
