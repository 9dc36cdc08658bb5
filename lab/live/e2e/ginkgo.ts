import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startLoggedProcess } from '../cluster/logged-process.ts';

export type Outcome = 'passed' | 'failed' | 'skipped';

export interface TestResult {
  readonly outcome: Outcome;
  /** Seconds. */
  readonly seconds: number;
  /** First lines of what a failed test said. */
  readonly message: string;
}

/** By the name of the test. */
export type TestResults = ReadonlyMap<string, TestResult>;

export interface GinkgoOptions {
  /** Path of `e2e.test`. */
  readonly e2eTest: string;
  readonly kubeconfig: string;
  readonly kubectl: string;
  /** For reports and output. */
  readonly directory: string;
  /** Processes side by side. */
  readonly processes: number;
  /** Milliseconds until a test that hangs is given up. */
  readonly patience: number;
}

/** The report that Ginkgo writes with `--ginkgo.json-report` (types/types.go). */
interface GinkgoReport {
  readonly SpecialSuiteFailureReasons: readonly string[] | null;
  readonly SpecReports: readonly {
    readonly ContainerHierarchyTexts: readonly string[] | null;
    readonly LeafNodeType: string;
    readonly LeafNodeText: string;
    readonly State: string;
    readonly RunTime: number;
    readonly Failure?: { readonly Message: string };
  }[];
}

/** Names of every test that the binary would run by itself. */
export async function listTests(
  options: Pick<GinkgoOptions, 'e2eTest' | 'directory'>,
): Promise<readonly string[]> {
  const report = await runGinkgo(options.e2eTest, options.directory, 'list', 60_000, [
    '--ginkgo.dry-run',
    '--kubeconfig=/dev/null',
    '--host=https://127.0.0.1',
  ]);
  return [...report].filter(([, { outcome }]) => outcome === 'passed').map(([name]) => name);
}

/** How many tests one process is given at a time: its start costs half a second of CPU. */
const batchSize = 4;

/** Runs tests by name. Those that want the cluster to themselves (`[Serial]`) come last, one by one. */
export async function runTests(names: readonly string[], options: GinkgoOptions): Promise<TestResults> {
  const isSerial = (name: string) => name.includes('[Serial]');
  const results = new Map<string, TestResult>();
  const together = names.filter((name) => !isSerial(name));
  const queue: (readonly string[])[] = [];
  for (let at = 0; at < together.length; at += batchSize) queue.push(together.slice(at, at + batchSize));
  let turn = 0;
  const work = async () => {
    for (let batch = queue.shift(); batch !== undefined; batch = queue.shift()) {
      const left = await runBatch(batch, `batch-${turn++}`, options, results);
      // Tests that a hanging test has kept from running; alone, the one that hangs hangs nobody else.
      queue.push(...left.map((name) => [name]));
    }
  };
  await Promise.all(Array.from({ length: options.processes }, work));
  queue.push(...names.filter(isSerial).map((name) => [name]));
  await work();
  return results;
}

/** @returns names of tests that did not get to run */
async function runBatch(
  batch: readonly string[],
  id: string,
  options: GinkgoOptions,
  results: Map<string, TestResult>,
): Promise<readonly string[]> {
  const report = await runGinkgo(options.e2eTest, options.directory, id, options.patience, [
    '--provider=skeleton',
    `--kubeconfig=${options.kubeconfig}`,
    `--kubectl-path=${options.kubectl}`,
    '--allowed-not-ready-nodes=-1',
    '--minStartupPods=0',
    ...batch.map((name) => `--ginkgo.focus= ${escapeRegExp(name)}$`),
  ]);
  const left: string[] = [];
  for (const name of batch) {
    const result = report.get(name);
    if (result !== undefined) results.set(name, result);
    else if (batch.length > 1) left.push(name);
    else
      results.set(name, { outcome: 'failed', seconds: 0, message: `no end within ${options.patience} ms` });
  }
  return left;
}

async function runGinkgo(
  e2eTest: string,
  directory: string,
  id: string,
  patience: number,
  args: readonly string[],
): Promise<TestResults> {
  const reportFile = join(directory, `${id}.json`);
  const process = await startLoggedProcess({
    name: 'e2e.test',
    command: e2eTest,
    args: [
      '--ginkgo.no-color',
      '--ginkgo.silence-skips',
      '--ginkgo.grace-period=20s',
      `--ginkgo.timeout=${Math.round(patience / 1000)}s`,
      `--ginkgo.json-report=${reportFile}`,
      ...args,
    ],
    logFile: join(directory, `${id}.out`),
  });
  const deadline = setTimeout(() => void process.kill(), patience + 60_000);
  await process.ended;
  clearTimeout(deadline);
  const text = await readFile(reportFile, 'utf8').catch(() => undefined);
  return text === undefined ? new Map() : resultsOf(JSON.parse(text) as readonly GinkgoReport[]);
}

/** Results of the tests that ran; one that Ginkgo kept from running is not among them. */
export function resultsOf(reports: readonly GinkgoReport[]): TestResults {
  const results = new Map<string, TestResult>();
  for (const { SpecReports, SpecialSuiteFailureReasons } of reports) {
    const wasCutShort = (SpecialSuiteFailureReasons ?? []).length > 0;
    for (const spec of SpecReports) {
      if (spec.LeafNodeType !== 'It') continue;
      const message = spec.Failure?.Message ?? '';
      // Not among those asked for, or not reached any more: nothing says why it did not run.
      if (spec.State === 'skipped' && (message === '' || wasCutShort)) continue;
      if (spec.State === 'pending') continue;
      const name = [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' ');
      results.set(name, {
        outcome: spec.State === 'passed' || spec.State === 'skipped' ? spec.State : 'failed',
        seconds: Math.round(spec.RunTime / 1e8) / 10,
        message: message.slice(0, 600),
      });
    }
  }
  return results;
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
