/**
 * Runs the conformance suite on every runtime and prints what came of it.
 *
 * `npm run lab -- conformance` prints the tables, and fails when a case fails or test/conformance/README.md says something
 * else. `npm run lab -- conformance --write` also writes the tables and figures into test/conformance/README.md, and the
 * answers that have to be equal everywhere into agreed-answers.json. Further arguments name the runtimes to run, by ID;
 * nothing is written then.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeAgreedAnswers } from './agreed-answers.ts';
import { allCases, caseGroups } from './cases/index.ts';
import { casesSection, figuresSection, sectionOf, withSection } from './page.ts';
import { newFindings } from './run-cases.ts';
import { type RuntimeReport, runRuntime } from './run-runtime.ts';
import { runtimes } from './runtimes/index.ts';

const pagePath = join(import.meta.dirname, 'README.md');
const write = process.argv.includes('--write');
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const chosen = named.length === 0 ? runtimes : runtimes.filter(({ id }) => named.includes(id));

const reports = new Map<string, RuntimeReport>();
/** The answers of the first runtime are what the others are compared with. */
const agreements = new Map<string, string>();
const figures = new Map<string, Map<string, number>>();
let failures = 0;

for (const runtime of chosen) {
  const missing = runtime.missing?.();
  if (missing !== undefined) {
    console.error(`${runtime.title}: not run. ${missing}`);
    failures++;
    continue;
  }
  const report = await runRuntime(runtime, { ...newFindings(), agreements });
  reports.set(runtime.id, report);
  for (const [name, milliseconds] of report.findings.figures) {
    const byRuntime = figures.get(name) ?? new Map<string, number>();
    figures.set(name, byRuntime.set(runtime.id, milliseconds));
  }
  const kinds = [...report.outcomes.values()].map(({ kind }) => kind);
  console.log(`${runtime.title}: ${kinds.filter((kind) => kind === 'holds').length} of ${kinds.length} hold`);
  for (const { id } of allCases) {
    const outcome = report.outcomes.get(id);
    if (outcome?.kind !== 'fails') continue;
    failures++;
    console.error(`  ${id} fails: ${outcome.error instanceof Error ? outcome.error.stack : outcome.error}`);
  }
}

if (failures > 0) {
  console.error('Nothing is written: the page shows what holds.');
  process.exitCode = 1;
} else if (named.length === 0) {
  const cases = casesSection({
    groups: caseGroups,
    runtimes,
    outcome: ({ id }, each) => {
      const outcome = reports.get(id)?.outcomes.get(each.id);
      if (outcome === undefined) throw new Error(`${each.id} was not run on ${id}`);
      return outcome;
    },
  });
  const measured = figuresSection(runtimes, figures);
  const page = readFileSync(pagePath, 'utf8');
  if (write) {
    writeFileSync(pagePath, withSection(withSection(page, 'cases', cases), 'figures', measured));
    writeAgreedAnswers(agreements);
  } else {
    console.log(`\n${cases}\n\n${measured}`);
    if (sectionOf(page, 'cases') !== cases) {
      console.error('test/conformance/README.md says something else: npm run lab -- conformance --write');
      process.exitCode = 1;
    }
  }
}
