import { diff } from 'node:util';

export interface TextChange {
  /** Path of a file on the node, or the name of the object. */
  readonly path: string;
  /** `undefined`: there is none. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

export interface FileChange extends TextChange {
  readonly mode: number;
  /** True if the content is not for a terminal: it holds a key. */
  readonly isSecret?: boolean;
}

/** The change that a file needs, if any. Pure. @param files what is there, by path */
export function changeTo(
  files: ReadonlyMap<string, string>,
  path: string,
  after: string | undefined,
  mode: number,
  isSecret = false,
): readonly FileChange[] {
  const before = files.get(path);
  return before === after ? [] : [{ path, before, after, mode, isSecret }];
}

/** As `diff -u` shows them, without numbers of lines and without secrets. Pure. */
export function diffText(changes: readonly (TextChange | FileChange)[]): string {
  return changes.map(diffOf).join('');
}

function diffOf(change: TextChange | FileChange): string {
  const { path, before, after } = change;
  const heading = `--- ${before === undefined ? '/dev/null' : path}\n+++ ${after === undefined ? '/dev/null' : path}\n`;
  if ('isSecret' in change && change.isSecret === true) {
    const what = after === undefined ? 'removed' : `mode ${change.mode.toString(8)}`;
    return `${heading}(${what}; it holds a private key, so its content is not shown)\n`;
  }
  return `${heading}${diffLines(linesOf(before), linesOf(after))}`;
}

function linesOf(text = ''): readonly string[] {
  const lines = text.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

/** Lines shown around a change. */
const context = 3;

/** By the operation of `diff(before, after)`, which takes its first text for what has become of the second. */
const marks = { '-1': '+', '0': ' ', '1': '-' } as const;

/** Changed lines, with the lines around them. `...` stands for lines that are left out after a change. Pure. */
export function diffLines(before: readonly string[], after: readonly string[]): string {
  // Node 26 throws for two texts without a line.
  if (before.length === 0 && after.length === 0) return '';
  const lines = diff(before, after).map(([operation, text]) => ({ mark: marks[operation], text }));
  const isNear = (index: number) =>
    lines.slice(Math.max(0, index - context), index + context + 1).some(({ mark }) => mark !== ' ');
  return lines
    .map(({ mark, text }, index) => {
      if (isNear(index)) return `${mark}${text}\n`;
      return isNear(index - 1) ? '...\n' : '';
    })
    .join('');
}
