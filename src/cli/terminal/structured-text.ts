import { stringify } from 'yaml';

/** Forms for programs, as kubectl has them. */
export const structuredForms = ['json', 'yaml'] as const;

export type StructuredForm = (typeof structuredForms)[number];

/** A value written out for programs, and for people who look at it: no text in it controls a terminal. Pure. */
export function structuredText(value: unknown, form: StructuredForm): string {
  // Without references between equal parts, which few readers of YAML expect.
  const text =
    form === 'yaml'
      ? stringify(value, { aliasDuplicateObjects: false, blockQuote: false })
      : `${JSON.stringify(value, null, 2)}\n`;
  // Both forms escape C0 (RFC 8259 section 7) and leave DEL and C1 in quoted text, where `\u` means the same in both.
  return text.replaceAll(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}
