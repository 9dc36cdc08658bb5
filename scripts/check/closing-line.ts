/** A reporter for `node --test` that says in one last line how the run has ended: `12 passed, 0 failed, 1 skipped`. */
import type { TestEvent } from 'node:test/reporters';

export default async function* closingLine(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let line = '';
  for await (const event of events) {
    // Each file has a summary of its own; the one of the whole run names none.
    if (event.type !== 'test:summary' || event.data.file !== undefined) continue;
    const { tests, passed, skipped, todo } = event.data.counts;
    // Those that were cancelled among them.
    const failed = tests - passed - skipped - todo;
    line = `${passed} passed, ${failed} failed, ${skipped} skipped\n`;
  }
  yield line;
}
