import { stringify } from 'yaml';

/** Forms for programs, as kubectl has them. */
export const structuredForms = ['json', 'yaml'] as const;

export type StructuredForm = (typeof structuredForms)[number];

/** A value written out for programs. Pure. */
export function structuredText(value: unknown, form: StructuredForm): string {
  // Without references between equal parts, which few readers of YAML expect.
  if (form === 'yaml') return stringify(value, { aliasDuplicateObjects: false });
  return `${JSON.stringify(value, null, 2)}\n`;
}
