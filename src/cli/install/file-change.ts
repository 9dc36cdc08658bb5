import { diffLines } from './diff-lines.ts';

/** What becomes of one file. */
export interface FileChange {
  /** On the node. */
  readonly path: string;
  /** `undefined`: there is none. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** Of a file that is made. One that is replaced keeps its own. */
  readonly mode: number;
  /** Whether its content is not for a terminal: it holds a key. */
  readonly isSecret?: boolean;
}

/** As `diff -u` shows them, and without what is secret. Pure. */
export function diffText(changes: readonly FileChange[]): string {
  return changes.map(diffOf).join('');
}

function diffOf({ path, before, after, mode, isSecret = false }: FileChange): string {
  const heading = `--- ${before === undefined ? '/dev/null' : path}\n+++ ${after === undefined ? '/dev/null' : path}\n`;
  if (isSecret) {
    const what = after === undefined ? 'removed' : `mode ${mode.toString(8)}`;
    return `${heading}(${what}; it holds a private key, so its content is not shown)\n`;
  }
  return `${heading}${diffLines(linesOf(before), linesOf(after))}`;
}

function linesOf(text = ''): readonly string[] {
  const lines = text.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}
