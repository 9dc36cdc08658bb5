/** Also what turns or hides other characters, such as U+202E (CVE-2021-42574), and the separators of lines. */
const controlCharacters = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Text that cannot control a terminal: control characters, line feeds among them, are shown as `?`. */
export function printable(text: string): string {
  return text.replaceAll(controlCharacters, '?');
}
