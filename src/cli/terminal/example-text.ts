/** A call of the program, as help shows it. */
export interface Example {
  readonly comment: string;
  /** Without the program's name, on one line. */
  readonly line: string;
}

const indent = '  ';
const continuedIndent = '      ';

/**
 * An example as help shows it: no line of it is longer than `width`, unless one flag with its value is, and it can be
 * pasted into a shell as it stands. Pure.
 */
export function exampleText({ comment, line }: Example, width: number): string {
  const comments = filled(comment.split(' '), width, `${indent}# `, `${indent}# `, '');
  const call = filled(unitsOf(`mixed-version-proxy ${line}`), width, indent, continuedIndent, ' \\');
  return [...comments, ...call].join('\n');
}

/** What stays on one line: a flag and its value, a redirection and its file, an operator and what it starts. */
function unitsOf(line: string): readonly string[] {
  const units: string[] = [];
  let isJoined = false;
  for (const word of line.split(' ')) {
    const isFlag = word.startsWith('-');
    if (isJoined && !isFlag) units.push(`${units.pop() ?? ''} ${word}`);
    else units.push(word);
    isJoined = /^(?:[<>]|&&|\|)$/.test(word) || (isFlag && !word.includes('='));
  }
  return units;
}

/** Fills lines up to `width`, `lineEnd` of all but the last line included. */
function filled(
  units: readonly string[],
  width: number,
  first: string,
  next: string,
  lineEnd: string,
): readonly string[] {
  const lines: string[] = [];
  let current = first;
  let isEmpty = true;
  for (const unit of units) {
    const longer = isEmpty ? `${current}${unit}` : `${current} ${unit}`;
    if (isEmpty || longer.length + lineEnd.length <= width) {
      current = longer;
    } else {
      lines.push(`${current}${lineEnd}`);
      current = `${next}${unit}`;
    }
    isEmpty = false;
  }
  return [...lines, current];
}
