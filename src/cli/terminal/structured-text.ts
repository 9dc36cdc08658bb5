import { choice, setting } from '../../node/configuration/setting-types.ts';

/** Forms for programs, as kubectl has them. */
type StructuredForm = 'json' | 'yaml';

export const outputSetting = setting('output', choice('text', 'json', 'yaml'), {
  short: 'o',
  default: 'text',
  description: 'Form of the output.',
});

/**
 * What both forms leave as it is, and what turns or hides other characters, such as U+202E (CVE-2021-42574). C0 both escape
 * (RFC 8259 section 7).
 */
const controlCharacters = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A value written out for programs, and for people who look at it: no text in it controls a terminal. */
export async function structuredText(value: unknown, form: StructuredForm): Promise<string> {
  const json = JSON.stringify(value, null, 2);
  const text = form === 'yaml' ? await yamlText(value, json.search(controlCharacters) !== -1) : `${json}\n`;
  return text.replaceAll(controlCharacters, (character) => escaped(character, form));
}

/** In quoted text; beyond U+FFFF JSON has two of them (RFC 8259 section 7), and YAML one (YAML 1.2 section 5.7). */
function escaped(character: string, form: StructuredForm): string {
  const hexadecimal = (code: number, digits: number): string => code.toString(16).padStart(digits, '0');
  if (form === 'yaml' && character.length > 1) return `\\U${hexadecimal(character.codePointAt(0) ?? 0, 8)}`;
  return character
    .split('')
    .map((unit) => `\\u${hexadecimal(unit.charCodeAt(0), 4)}`)
    .join('');
}

async function yamlText(value: unknown, isQuoted: boolean): Promise<string> {
  // Loaded only where YAML is asked for: commands start faster.
  const { stringify } = await import('yaml');
  // Without references between equal parts, which few readers of YAML expect.
  return stringify(value, {
    ...{ aliasDuplicateObjects: false, blockQuote: false },
    ...(isQuoted ? { defaultStringType: 'QUOTE_DOUBLE' } : {}),
  });
}
