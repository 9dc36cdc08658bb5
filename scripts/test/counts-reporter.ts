/** A reporter for `node --test` that gives how many tests of the whole run passed, failed and were skipped, as JSON. */
import type { TestEvent } from 'node:test/reporters';

export default async function* countsReporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    // Each file has a summary of its own; the one of the whole run names none.
    if (event.type !== 'test:summary' || event.data.file !== undefined) continue;
    const { tests, passed, skipped, todo } = event.data.counts;
    // Those that were cancelled among them.
    const failed = tests - passed - skipped - todo;
    yield JSON.stringify({ passed, failed, skipped });
  }
}
