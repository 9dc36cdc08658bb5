import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createMetricRegistry } from '../metrics/metric-registry.ts';
import { MetricsGathering, type MetricsSubject } from './metrics-gathering.ts';
import { type MetricsReport, reportOf } from './metrics-report.ts';

const nothing: MetricsReport = { destinations: null, families: [] };
const name = 'mixed_version_proxy_upgrades_total';

/** A process that counts, and answers or does not. */
class Counting implements MetricsSubject {
  readonly #registry = createMetricRegistry();
  answers = true;

  count(): void {
    this.#registry.requests.upgrades.with().add();
  }

  report(): MetricsReport {
    return reportOf([this.#registry.requests.upgrades], undefined);
  }

  async reportMetrics(): Promise<MetricsReport> {
    if (!this.answers) throw new Error('no answer');
    return this.report();
  }
}

function countIn({ families }: MetricsReport): number {
  return Number(families.find((family) => family.name === name)?.series[0]?.[1]);
}

test('what has been told once never falls, whichever process counts, is silent, ends or is scraped', async () => {
  const step = fc.record({
    process: fc.nat(2),
    does: fc.constantFrom('count', 'silence', 'answer', 'end', 'scrape'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const gathering = new MetricsGathering<Counting>();
      const processes = [new Counting(), new Counting(), new Counting()];
      let told = 0;
      let counted = 0;
      for (const { process: index, does } of steps) {
        const subject = processes[index] ?? assert.fail();
        if (does === 'count') {
          subject.count();
          counted += 1;
        } else if (does === 'silence' || does === 'answer') {
          subject.answers = does === 'answer';
        } else if (does === 'end') {
          gathering.ended(subject);
          processes[index] = new Counting();
        } else {
          const others = processes.filter((each) => each !== subject);
          const sum = countIn(await gathering.gather(subject, subject.report(), others, async () => nothing));
          assert.ok(sum >= told, `${sum} after ${told}`);
          assert.ok(sum <= counted, 'nothing counts twice');
          told = sum;
        }
      }
    }),
  );
});

test('a process that ends while it is waited for counts as ended, once', async () => {
  const gathering = new MetricsGathering<Counting>();
  const [scraped, other, slow] = [new Counting(), new Counting(), new Counting()];
  for (const process of [scraped, other, slow]) process.count();
  const answered = Promise.withResolvers<MetricsReport>();
  slow.reportMetrics = () => answered.promise;
  let silent = -1;
  const gathered = gathering.gather(scraped, scraped.report(), [other, slow], async (states) => {
    silent = states.silent;
    return nothing;
  });
  await new Promise((resolve) => setImmediate(resolve));
  gathering.ended(other);
  answered.resolve(slow.report());
  assert.equal(countIn(await gathered), 3);
  assert.equal(silent, 0);
});

test('the last counts of a process that ends in order are not lost, though nobody had asked for them', async () => {
  const gathering = new MetricsGathering<Counting>();
  const [scraped, leaving] = [new Counting(), new Counting()];
  leaving.count();
  gathering.reported(leaving, leaving.report());
  gathering.ended(leaving);
  assert.equal(countIn(await gathering.gather(scraped, scraped.report(), [], async () => nothing)), 1);
});
