import type { FencedBlock } from './markdown-page.ts';

/** One command of a block, and what the page shows as its output. */
export interface ShownCommand {
  readonly line: number;
  /** For a shell; continued lines are joined. */
  readonly command: string;
  /** Lines of output. In a `sh` block there are none. */
  readonly output: readonly string[];
}

/** True if a block holds commands, rather than a file or a diagram. A block without a language may hold them. */
export function isCommandBlock({ language, lines }: FencedBlock): boolean {
  if (['sh', 'bash', 'shell', 'console'].includes(language)) return true;
  return (
    language === '' && lines.some((line) => /^(\$ )?(npm|npx|kubectl|curl|mixed-version-proxy)\b/.test(line))
  );
}

/** The commands of a block, in order. In `console` blocks they stand behind `$ `, and what follows is output. Pure. */
export function commandsOf(block: FencedBlock): readonly ShownCommand[] {
  const commands: { line: number; command: string; output: string[] }[] = [];
  let continued: { command: string } | undefined;
  for (const [index, text] of block.lines.entries()) {
    const line = block.line + index + 1;
    const prompted = block.language !== 'console' || text.startsWith('$ ');
    if (continued !== undefined) {
      continued.command += ` ${text.trim()}`;
    } else if (!prompted) {
      commands.at(-1)?.output.push(text);
      continue;
    } else {
      const command = block.language === 'console' ? text.slice(2) : text;
      if (command.trim() === '' || command.startsWith('#')) continue;
      commands.push({ line, command, output: [] });
    }
    const last = commands.at(-1);
    continued = last?.command.endsWith('\\') === true ? last : undefined;
    if (continued !== undefined) continued.command = continued.command.replace(/\s*\\$/, '');
  }
  return commands;
}

/** Words of a command as a shell would part them, without quotes and without a comment at the end. Pure. */
export function wordsOf(command: string): readonly string[] {
  const words: string[] = [];
  for (const [word] of command.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)) {
    if (word.startsWith('#')) break;
    words.push(word.replaceAll(/['"]/g, ''));
  }
  return words;
}
