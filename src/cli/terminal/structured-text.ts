import { choice, setting } from '../../node/configuration/setting-types.ts';

export const outputSetting = setting('output', choice('text', 'json'), {
  short: 'o',
  default: 'text',
  description: 'Form of the output.',
});

/**
 * Characters that JSON leaves as they are, and that turn or hide others, such as U+202E (CVE-2021-42574). JSON itself
 * escapes C0 (RFC 8259 section 7).
 */
const controlCharacters = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A value as JSON for programs, and for people who look at it: no text in it controls a terminal. */
export function jsonText(value: unknown): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  // Beyond U+FFFF a character is two units.
  const text = JSON.stringify(value, null, 2).replaceAll(controlCharacters, (character) =>
    character.split('').map(escaped).join(''),
  );
  return `${text}\n`;
}
