import { after, before, describe, test } from 'node:test';
import { readAgreedAnswers } from './agreed-answers.ts';
import { allCases } from './cases/index.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { newFindings, roundsOf, runCase, type StartedRound, startRound } from './run-cases.ts';
import type { ConformanceRuntime } from './runtime.ts';

/**
 * Every case that has to hold on `runtime`, each as a test. What does not apply there is declared in the runtime's
 * file, and no test: README.md lists it with its reason.
 */
export function testRuntime(runtime: ConformanceRuntime): void {
  const missing = runtime.missing?.();
  // Answers that differ from the other runtimes fail, too: `npm run lab -- conformance --write` has written down what
  // all said.
  const findings = { ...newFindings(), agreements: readAgreedAnswers() };
  describe(`conformance: ${runtime.title}`, { skip: missing ?? false }, () => {
    let cluster: Cluster | undefined;
    before(async () => {
      cluster = await startCluster();
    });
    after(() => cluster?.close());
    for (const round of roundsOf(runtime, allCases)) {
      describe(`snapshot: ${round.snapshot}`, () => {
        let running: StartedRound | undefined;
        before(async () => {
          running = await startRound(runtime, round, required(cluster));
        });
        after(() => running?.close());
        for (const each of round.cases) {
          test(`${each.id}: ${each.rule}`, () =>
            runCase(each, required(running), required(cluster), findings));
        }
      });
    }
  });
}

function required<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('it was not started');
  return value;
}
