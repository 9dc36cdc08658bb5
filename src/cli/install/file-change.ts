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

/** As `diff -u` shows them, without secrets. Pure. */
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

/** Lines shown around a change. */
const context = 3;

interface Line {
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

/** The hunks of a unified diff. Pure; meant for files of some hundred lines. */
export function diffLines(before: readonly string[], after: readonly string[]): string {
  const lines = compared(before, after);
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - context), index + context + 1).some(({ mark }) => mark !== ' '),
  );
  let text = '';
  let [oldLine, newLine] = [1, 1];
  for (let index = 0; index < lines.length; ) {
    if (isNear[index] !== true) {
      index += 1;
      oldLine += 1;
      newLine += 1;
      continue;
    }
    const end = isNear.indexOf(false, index);
    const hunk = lines.slice(index, end === -1 ? undefined : end);
    const [oldCount, newCount] = [countOf(hunk, '-'), countOf(hunk, '+')];
    // A side without lines begins at the line before (POSIX, diff -u).
    const start = (line: number, count: number) => `${count === 0 ? line - 1 : line},${count}`;
    text += `@@ -${start(oldLine, oldCount)} +${start(newLine, newCount)} @@\n`;
    text += hunk.map((line) => `${line.mark}${line.text}\n`).join('');
    oldLine += oldCount;
    newLine += newCount;
    index += hunk.length;
  }
  return text;
}

function countOf(hunk: readonly Line[], mark: '-' | '+'): number {
  return hunk.filter((line) => line.mark === ' ' || line.mark === mark).length;
}

/** Both texts as one, by their longest common subsequence. */
function compared(before: readonly string[], after: readonly string[]): readonly Line[] {
  // lengths[i][j]: of the longest one of what follows line i of `before` and line j of `after`.
  const lengths = Array.from({ length: before.length + 1 }, () =>
    new Array<number>(after.length + 1).fill(0),
  );
  const lengthAt = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    const row = lengths[i] ?? [];
    for (let j = after.length - 1; j >= 0; j -= 1) {
      row[j] =
        before[i] === after[j]
          ? lengthAt(i + 1, j + 1) + 1
          : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [removed, added] = [before[i], after[j]];
    if (removed !== undefined && removed === added) {
      lines.push({ mark: ' ', text: removed });
      i += 1;
      j += 1;
    } else if (removed !== undefined && (added === undefined || lengthAt(i + 1, j) >= lengthAt(i, j + 1))) {
      lines.push({ mark: '-', text: removed });
      i += 1;
    } else {
      lines.push({ mark: '+', text: added ?? '' });
      j += 1;
    }
  }
  return lines;
}
