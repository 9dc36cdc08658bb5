/** What a shell shows for a flag: there is room for one sentence. */
export function firstSentence(text: string): string {
  return /^.*?[^.]\.(?=\s|$)/s.exec(text)?.[0] ?? text;
}

/** As one word of bash or zsh. */
export function quotedForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
