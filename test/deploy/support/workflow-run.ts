import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import * as v from 'valibot';
import { parse } from 'yaml';

const root = resolve(import.meta.dirname, '../../..');
const double = join(import.meta.dirname, 'registry-double.ts');

/** Below the root; besides these, what lies here is taken for what was committed. */
const notCheckedOut = /^\/(\.git|node_modules|dist|dist-[a-z]+|\.demo[^/]*|\.wrangler)$/;

const workflowSchema = v.looseObject({
  jobs: v.record(
    v.string(),
    v.looseObject({
      outputs: v.optional(v.record(v.string(), v.string()), {}),
      steps: v.optional(
        v.array(
          v.looseObject({
            id: v.optional(v.string(), ''),
            uses: v.optional(v.string(), ''),
            run: v.optional(v.string()),
            shell: v.optional(v.string()),
            env: v.optional(v.record(v.string(), v.string()), {}),
            with: v.optional(v.record(v.string(), v.union([v.string(), v.boolean(), v.number()])), {}),
          }),
        ),
        [],
      ),
    }),
  ),
});
type Step = NonNullable<v.InferOutput<typeof workflowSchema>['jobs'][string]>['steps'][number];

/** By its dotted path in an expression. */
type Values = Map<string, string>;

/** A command that took a registry. */
interface RegistryCall {
  readonly command: string;
  readonly args: readonly string[];
  /** On standard input. */
  readonly given: string;
  /** Notes of a release. */
  readonly notes: string;
}

/**
 * Runs jobs of a workflow on this machine, command by command, in the shell that GitHub runs them in: each in a folder of its
 * own, with a copy of what is checked out here. Of actions it knows what these workflows use.
 */
export class WorkflowRun {
  readonly #jobs: v.InferOutput<typeof workflowSchema>['jobs'];
  readonly #folder: string;
  readonly #tag: string;
  readonly #prepare: (checkout: string) => void;
  readonly #values: Values = new Map([['github.token', 'a-token']]);

  /**
   * @param folder an empty one
   * @param prepare what was committed before the tag was pushed
   */
  constructor(file: string, folder: string, tag: string, prepare: (checkout: string) => void = () => {}) {
    this.#jobs = v.parse(
      workflowSchema,
      parse(readFileSync(join(root, '.github/workflows', file), 'utf8')),
    ).jobs;
    this.#folder = folder;
    this.#tag = tag;
    this.#prepare = prepare;
    for (const name of ['bin', 'artifacts']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'calls'), '');
    for (const program of ['npm', 'docker', 'helm', 'gh', 'curl']) {
      const text = `#!/bin/sh\nexec "${process.execPath}" "${double}" ${program} "$@"\n`;
      writeFileSync(join(folder, 'bin', program), text, { mode: 0o755 });
    }
    // The Node that setup-node brings.
    symlinkSync(process.execPath, join(folder, 'bin/node'));
  }

  /** Names of the jobs that run commands. */
  get jobs(): readonly string[] {
    const jobs = Object.entries(this.#jobs);
    return jobs.filter(([, { steps }]) => steps.some(({ run }) => run !== undefined)).map(([name]) => name);
  }

  /** Commands that took a registry, in their order. */
  get calls(): readonly RegistryCall[] {
    const lines = readFileSync(join(this.#folder, 'calls'), 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
  }

  /** Files that a job has handed on. */
  artifact(name: string, file: string): string {
    return join(this.#folder, 'artifacts', name, file);
  }

  /** @returns the folder that it ran in. @throws Error with what a step wrote when it failed */
  run(name: string): string {
    const job = this.#jobs[name] ?? failed(`there is no job ${name}`);
    const folder = mkdtempSync(join(this.#folder, `${name}-`));
    for (const step of job.steps) {
      if (step.run === undefined) this.#use(step, folder);
      else this.#execute(name, step, folder);
    }
    for (const [output, expression] of Object.entries(job.outputs))
      this.#values.set(`needs.${name}.outputs.${output}`, this.#evaluate(expression));
    return folder;
  }

  #evaluate(text: string): string {
    return text.replaceAll(
      /\$\{\{ ([\w.-]+) \}\}/g,
      (_, path: string) => this.#values.get(path) ?? failed(`\${{ ${path} }} has no value`),
    );
  }

  #use({ uses, with: given }: Step, folder: string): void {
    const [action] = uses.split('@');
    const from = (path: string) => join(this.#folder, 'artifacts', path);
    const to = join(folder, String(given['path'] ?? '.'));
    if (action === 'actions/checkout') {
      cpSync(root, folder, {
        recursive: true,
        filter: (path) => !notCheckedOut.test(path.slice(root.length)),
      });
      symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
      this.#prepare(folder);
    } else if (action === 'actions/upload-artifact') {
      if (!existsSync(to) || readdirSync(to).length === 0) failed(`no files at ${to}`);
      cpSync(to, from(String(given['name'])), { recursive: true });
    } else if (action === 'actions/download-artifact') {
      const names = given['name'] === undefined ? readdirSync(from('.')) : [String(given['name'])];
      for (const each of names) cpSync(from(each), to, { recursive: true });
    } else if (action !== 'actions/setup-node') failed(`nothing is known of the action ${action}`);
  }

  #execute(job: string, { id, run = '', shell, env }: Step, folder: string): void {
    // docs.github.com, workflow syntax, `shell`: without one a failure within a pipe counts for nothing.
    const options = shell === 'bash' ? ['--noprofile', '--norc', '-eo', 'pipefail'] : ['-e'];
    const output = join(folder, '..', `${job}-output`);
    writeFileSync(output, '');
    const PATH = process.env['PATH'] ?? '';
    const { status, stdout, stderr } = spawnSync('bash', [...options, '-c', run], {
      cwd: folder,
      encoding: 'utf8',
      env: {
        ...process.env,
        ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, this.#evaluate(value)])),
        ...{
          PATH: `${join(this.#folder, 'bin')}:${PATH}`,
          REAL_PATH: PATH,
          DOUBLE_LOG: join(this.#folder, 'calls'),
        },
        ...{
          CI: 'true',
          GITHUB_OUTPUT: output,
          GITHUB_REF_NAME: this.#tag,
          GITHUB_SHA: 'c0ffee'.repeat(7).slice(0, 40),
        },
        ...{
          GITHUB_REPOSITORY: 'Example/Proxy',
          GITHUB_REPOSITORY_OWNER: 'Example',
          GITHUB_ACTOR: 'somebody',
        },
        GITHUB_SERVER_URL: 'https://github.com',
      },
    });
    if (status !== 0) failed(`${job}: ${run}\nends with ${status}:\n${stdout}${stderr}`);
    for (const line of readFileSync(output, 'utf8').split('\n')) {
      const [, name, value = ''] = /^([^=]+)=(.*)$/.exec(line) ?? [];
      if (name !== undefined) this.#values.set(`steps.${id}.outputs.${name}`, value);
    }
  }
}

function failed(message: string): never {
  throw new Error(message);
}
