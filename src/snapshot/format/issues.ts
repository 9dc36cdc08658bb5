import { snapshotLimits } from './limits.ts';

/** One error in a document: its path, and what to change. */
export interface SnapshotIssue {
  /** For example `servers[3].address`; empty for the document as a whole. */
  readonly path: string;
  readonly message: string;
}

/**
 * Collects the errors of one document. The first ones are kept; the rest is counted, so that a document of
 * a million errors costs a number, not a million messages.
 */
export class IssueList {
  readonly #kept: SnapshotIssue[] = [];
  #omitted = 0;

  add(path: string, message: string): void {
    if (this.#kept.length < snapshotLimits.issues) this.#kept.push({ path, message });
    else this.#omitted++;
  }

  /** Of all errors, the ones left out included. */
  get count(): number {
    return this.#kept.length + this.#omitted;
  }

  get isEmpty(): boolean {
    return this.#kept.length === 0;
  }

  /** The kept errors; where some were left out, a last entry says how many. */
  toArray(): SnapshotIssue[] {
    if (this.#omitted === 0) return [...this.#kept];
    return [...this.#kept, { path: '', message: `${this.#omitted} more errors are not listed` }];
  }
}

/** `path.key`, `path["a b"]` or `path[3]`. */
export function fieldPath(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`;
  if (!/^[A-Za-z_]\w*$/.test(key)) return `${path}[${quoted(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** `text` in quotes, control characters escaped, long text cut: input is named, never repeated whole. */
export function quoted(text: string): string {
  const limit = 80;
  return JSON.stringify(text.length > limit ? `${text.slice(0, limit)}…` : text);
}

/** `servers[3].address: …; servers[4].id: …`, the first few of `issues` in one line. */
export function describeIssues(issues: readonly SnapshotIssue[]): string {
  const shown = issues
    .slice(0, 3)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  const hidden = issues.length - shown.length;
  return `${shown.join('; ')}${hidden > 0 ? `; and ${hidden} more` : ''}`;
}

/** One issue of the file `where`: `policy.yaml: rules[0].level must be …`. */
export function describeIssueOf(where: string, { path, message }: SnapshotIssue): string {
  return path === '' ? `${where} ${message}` : `${where}: ${path} ${message}`;
}
