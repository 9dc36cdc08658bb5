/**
 * One process of `npm test`: runs the files that it is given, writes what becomes of them to standard output, and
 * `Results` to the file that comes first.
 */
import asyncHooks, { type AsyncHook } from 'node:async_hooks';
import { createWriteStream } from 'node:fs';
import { relative, resolve } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';

/** How a process of tests has ended. */
export interface Results {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Names of skipped tests, with the reason. */
  readonly skips: readonly string[];
  /** Names of tests that failed, with where they are, and the error. */
  readonly failures: readonly string[];
}

interface TestPlace {
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly name: string;
}

/** Longest time of a test. Milliseconds. */
const timeout = 300_000;

const [resultsFile = '', ...files] = process.argv.slice(2);
const { createHook } = asyncHooks;
let following: AsyncHook | undefined;
// node:test follows every promise, socket and timer, to know which suite a test is of that is made while the files are
// loaded. It would go on to the end, and take about a tenth of all CPU time. Without it an error that nobody catches does not
// end its test, but fails the process.
asyncHooks.createHook = (callbacks) => {
  following = createHook(callbacks);
  return following;
};
for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error) => {
    console.error(`${event}: ${inspect(error)}`);
    process.exitCode = 1;
  });
}
const running = new Set<string>();
// As under `node --test`: 'exit' listeners end what tests have started.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    console.error(`${signal}. Tests that have not ended:\n${[...running].join('\n')}`);
    process.exit(1);
  });
}
const { run } = await import('node:test');
const { spec } = await import('node:test/reporters');
const events = run({ files, isolation: 'none', timeout });
events.once('test:dequeue', () => following?.disable());
events.on('test:dequeue', (test) => running.add(placeOf(test)));
events.on('test:complete', (test) => running.delete(placeOf(test)));
events.on('test:summary', ({ success, file }) => {
  if (!success) process.exitCode = 1;
  if (file !== undefined) return;
  // Node says nothing of a file that throws behind its first test. The file is not loaded twice: the error is that of
  // the first time.
  for (const each of files) {
    import(pathToFileURL(resolve(each)).href).catch((error: unknown) => {
      console.error(`${each} could not be loaded to its end: ${inspect(error)}`);
      process.exitCode = 1;
    });
  }
});
events.compose(spec).pipe(process.stdout);
events.compose(resultsReporter).pipe(createWriteStream(resultsFile));

function placeOf({ file = '', line, name }: TestPlace): string {
  return `${relative('.', file)}:${line} ${name}`;
}

/**
 * A reporter that writes `Results` as a line of JSON, first after each failure, at last of the whole
 * run: of a process that has to be killed, because a failed test left something running, the failures are still known.
 */
async function* resultsReporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
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
      failures.push(`${placeOf(data)}\n${inspect(cause)}`);
      yield line({ passed: passed - skips.length, failed: failures.length, skipped: skips.length });
    }
    // Node counts a file that registers no test as one that passed: another has imported it before, or it is empty.
    if (type === 'test:pass' && data.file !== undefined && resolve(data.name) === data.file) {
      empty.push(`${data.name} registers no test`);
    }
    // Each file has a summary of its own; the one of the whole run names none.
    if (type !== 'test:summary' || data.file !== undefined) continue;
    const { counts } = data;
    // Failed tests, with the cancelled ones among them.
    const failed = counts.tests - counts.passed - counts.skipped - counts.todo;
    yield line({
      passed: counts.passed - empty.length,
      failed: failed + empty.length,
      skipped: counts.skipped,
    });
  }
}
