import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FlagReport, FlagValues } from './flag-values.ts';
import { readProcessesFlag } from './processes-flags.ts';

function read(given: string | undefined, processors = 6) {
  const report = new FlagReport();
  const raw = given === undefined ? {} : { processes: [given] };
  const processes = readProcessesFlag(new FlagValues(raw, report), report, processors);
  return { count: processes?.count, faults: report.faults.map(({ message }) => message) };
}

test('one process unless told otherwise; auto and 0 are one for each processor', () => {
  const counts = [undefined, '1', '4', '128', 'auto', '0'].map((given) => read(given).count);
  assert.deepEqual(counts, [1, 1, 4, 128, 6, 6]);
  assert.equal(read('auto', 512).count, 128);
});

test('anything else is a fault that says what may stand there', () => {
  for (const given of ['129', '-1', '1.5', 'many', '']) {
    const { count, faults } = read(given);
    assert.equal(count, undefined, given);
    assert.match(faults.join(), /--processes/, given);
  }
});
