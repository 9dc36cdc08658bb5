import { relative, resolve } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

/** How a run of `node --test` has ended. */
export interface Results {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Names of skipped tests, with the reason. */
  readonly skips: readonly string[];
  /** Names of tests that failed, with where they are. */
  readonly failures: readonly string[];
}

/** A reporter for `node --test` that writes `Results` as JSON. */
export default async function* resultsReporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const skips: string[] = [];
  const failures: string[] = [];
  const empty: string[] = [];
  for await (const { type, data } of events) {
    if (type === 'test:pass' && typeof data.skip === 'string') skips.push(`${data.name} (${data.skip})`);
    // A suite fails because a test in it does.
    if (type === 'test:fail' && data.details.type !== 'suite') {
      failures.push(`${relative('.', data.file ?? '')}:${data.line} ${data.name}`);
    }
    // Node counts a file that registers no test as one that passed: another has imported it before, or it is empty.
    if (type === 'test:pass' && data.file !== undefined && resolve(data.name) === data.file) {
      empty.push(`${data.name} registers no test`);
    }
    // Each file has a summary of its own; the one of the whole run names none.
    if (type !== 'test:summary' || data.file !== undefined) continue;
    const { tests, passed, skipped, todo } = data.counts;
    // Those that were cancelled among them.
    const failed = tests - passed - skipped - todo;
    yield JSON.stringify({
      passed: passed - empty.length,
      failed: failed + empty.length,
      skipped,
      skips,
      failures: [...failures, ...empty],
    } satisfies Results);
  }
}
