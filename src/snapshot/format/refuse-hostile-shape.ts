import { fieldPath, type IssueList } from './issues.ts';
import { snapshotLimits } from './limits.ts';

// `JSON.parse` makes plain members of these names. Copied from object to object by code that does not know
// better, they reach into prototypes; no name of Kubernetes is spelled like this.
const prototypeKeys = new Set(['__proto__', 'constructor', 'prototype']);

interface Pending {
  readonly value: object;
  readonly depth: number;
  /** Its path, built only for an error: most snapshots have none. */
  readonly key: string | number;
  readonly parent: Pending | undefined;
}

/**
 * Looks through the whole value before anything reads from it: members named like parts of a prototype,
 * values nested too deep, more values than a snapshot can have. Walks without recursion.
 */
export function refuseHostileShape(root: object, issues: IssueList): void {
  const pending: Pending[] = [{ value: root, depth: 1, key: '', parent: undefined }];
  let seen = 1;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, depth } = next;
    if (depth > snapshotLimits.depth) {
      issues.add('', `is nested deeper than ${snapshotLimits.depth} levels`);
      return;
    }
    for (const [key, member] of membersOf(value)) {
      if (++seen > snapshotLimits.values) {
        issues.add('', `has more than ${snapshotLimits.values} values`);
        return;
      }
      if (typeof key === 'string' && prototypeKeys.has(key)) {
        issues.add(fieldPath(pathOf(next), key), 'must not be used as a name');
      } else if (typeof member === 'object' && member !== null) {
        pending.push({ value: member, depth: depth + 1, key, parent: next });
      }
    }
  }
}

function pathOf({ parent, key }: Pending): string {
  return parent === undefined ? '' : fieldPath(pathOf(parent), key);
}

function membersOf(value: object): Iterable<readonly [string | number, unknown]> {
  return Array.isArray(value) ? value.entries() : Object.entries(value);
}
