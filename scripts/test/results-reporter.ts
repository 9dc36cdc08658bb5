import { relative, resolve } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

/** How a run of `node --test` has ended. */
export interface Results {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Names of skipped tests, with the reason. */
  readonly skips: readonly string[];
  /** Names of tests that failed, with where they are, and the error. */
  readonly failures: readonly string[];
}

/**
 * A reporter for `node --test` that writes `Results` as a line of JSON, first after each failure, at last of the whole
 * run: of a process that has to be killed, because a failed test left something running, the failures are still known.
 */
export default async function* resultsReporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const skips: string[] = [];
  const failures: string[] = [];
  const empty: string[] = [];
  let passed = 0;
  const line = (results: Omit<Results, 'skips' | 'failures'>) =>
    `${JSON.stringify({ ...results, skips, failures: [...failures, ...empty] } satisfies Results)}\n`;
  for await (const { type, data } of events) {
    if (type === 'test:pass' && typeof data.skip === 'string') skips.push(`${data.name} (${data.skip})`);
    if (type === 'test:pass' && data.details.type !== 'suite') passed++;
    // A suite fails because a test in it does.
    if (type === 'test:fail' && data.details.type !== 'suite') {
      const { cause } = data.details.error;
      failures.push(`${relative('.', data.file ?? '')}:${data.line} ${data.name}\n${inspect(cause)}`);
      yield line({ passed: passed - skips.length, failed: failures.length, skipped: skips.length });
    }
    // Node counts a file that registers no test as one that passed: another has imported it before, or it is empty.
    if (type === 'test:pass' && data.file !== undefined && resolve(data.name) === data.file) {
      empty.push(`${data.name} registers no test`);
    }
    // Each file has a summary of its own; the one of the whole run names none.
    if (type !== 'test:summary' || data.file !== undefined) continue;
    const { counts } = data;
    // Those that were cancelled among them.
    const failed = counts.tests - counts.passed - counts.skipped - counts.todo;
    yield line({
      passed: counts.passed - empty.length,
      failed: failed + empty.length,
      skipped: counts.skipped,
    });
  }
}
