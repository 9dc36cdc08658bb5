import { choice, setting } from '../../node/configuration/setting-types.ts';

/** Forms for programs, as kubectl has them. */
type StructuredForm = 'json' | 'yaml';

export const outputSetting = setting('output', choice('text', 'json', 'yaml'), {
  short: 'o',
  default: 'text',
  description: 'Form of the output.',
});

/** A value written out for programs, and for people who look at it: no text in it controls a terminal. */
export async function structuredText(value: unknown, form: StructuredForm): Promise<string> {
  const text = form === 'yaml' ? await yamlText(value) : `${JSON.stringify(value, null, 2)}\n`;
  // Both forms escape C0 (RFC 8259 section 7) and leave DEL and C1 in quoted text, where `\u` means the same in both.
  return text.replaceAll(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}

async function yamlText(value: unknown): Promise<string> {
  // Loaded only where YAML is asked for: commands start faster.
  const { stringify } = await import('yaml');
  // Without references between equal parts, which few readers of YAML expect.
  return stringify(value, { aliasDuplicateObjects: false, blockQuote: false });
}
