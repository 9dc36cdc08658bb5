import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import * as v from 'valibot';
import { parse } from 'yaml';

const root = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const folder = '.github/workflows';
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

const permissionsSchema = v.record(v.string(), v.picklist(['read', 'write']));
const stepSchema = v.looseObject({
  uses: v.optional(v.string()),
  run: v.optional(v.string()),
  with: v.optional(v.record(v.string(), v.unknown())),
});
const workflowSchema = v.looseObject({
  on: v.looseObject({}),
  permissions: permissionsSchema,
  jobs: v.record(
    v.string(),
    v.looseObject({
      permissions: v.optional(permissionsSchema),
      environment: v.optional(v.string()),
      uses: v.optional(v.string()),
      steps: v.optional(v.array(stepSchema), []),
    }),
  ),
});

const workflows = readdirSync(join(root, folder)).map((file) => {
  const text = read(join(folder, file));
  return { file, text, ...v.parse(workflowSchema, parse(text)) };
});
const stepsOf = ({ jobs }: (typeof workflows)[number]) => Object.values(jobs).flatMap(({ steps }) => steps);

for (const workflow of workflows) {
  describe(`the workflow ${workflow.file}`, () => {
    const commands = stepsOf(workflow).flatMap(({ run = '' }) => run.split('\n'));

    test('runs scripts of package.json that there are, and files that there are', () => {
      for (const command of commands) {
        for (const [, script = ''] of command.matchAll(/npm run (?:--silent )?([\w:]+)/g)) {
          assert.ok(script in scripts, `npm run ${script}`);
        }
        for (const [path] of command.matchAll(/(?<![\w/.-])(?:deploy|\.ci|scripts|lab)\/[\w./-]+/g)) {
          assert.ok(existsSync(join(root, path)), path);
        }
      }
      for (const { uses = '' } of Object.values(workflow.jobs)) {
        if (uses.startsWith('./')) assert.ok(existsSync(join(root, uses)), uses);
      }
    });

    test('takes actions by their commit, which nobody can move, and says which version that is', () => {
      for (const [, used = '', comment = ''] of workflow.text.matchAll(/uses: (\S+)(.*)$/gm)) {
        if (used.startsWith('./')) continue;
        assert.match(used, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
        assert.match(comment, /^ # v\d+\.\d+\.\d+$/, used);
      }
    });

    test('asks for no secret, and leaves no token in the checkout', () => {
      assert.doesNotMatch(workflow.text, /\bsecrets(?:\.|: inherit)/);
      for (const { uses = '', with: given } of stepsOf(workflow)) {
        if (uses.startsWith('actions/checkout@')) assert.equal(given?.['persist-credentials'], false);
      }
    });

    test('puts nothing that others write into a shell: no expression stands in a command', () => {
      for (const command of commands) assert.ok(!command.includes('${{'), command);
    });
  });
}

test('what tests may read only; what publishes does so in the environment of releases, from tested sources', () => {
  for (const { file, on, permissions, jobs } of workflows) {
    assert.ok(!Object.values(permissions).includes('write'), file);
    const writers = Object.values(jobs).filter((job) =>
      Object.values(job.permissions ?? {}).includes('write'),
    );
    if ('pull_request' in on) assert.deepEqual(writers, [], file);
    assert.ok(!('pull_request_target' in on), file);
    for (const { environment } of writers) assert.equal(environment, 'release', file);
  }
  const release = workflows.find(({ file }) => file === 'release.yaml');
  assert.equal(release?.jobs['test']?.uses, './.github/workflows/test.yaml');
  assert.equal(release?.jobs['build']?.['needs'], 'test');
});

test('the packages and the image of a release tell its commit, and each SBOM is one document', () => {
  const { jobs } = workflows.find(({ file }) => file === 'release.yaml') ?? assert.fail('no release.yaml');
  const commandsOf = (name: string) => jobs[name]?.steps.map(({ run = '' }) => run).join('\n') ?? '';
  for (const [name, build] of [
    ['build', 'npm run package'],
    ['image', 'docker buildx build'],
  ] as const) {
    const commands = commandsOf(name);
    const stamp = commands.indexOf('"gitHead=$GITHUB_SHA"');
    assert.ok(stamp !== -1 && stamp < commands.indexOf(build), name);
  }
  // Buildx has a map of documents by architecture for an image for several architectures.
  const image = commandsOf('image');
  assert.match(image, /--platform linux\/amd64,linux\/arm64 /);
  assert.match(image, /for architecture in amd64 arm64; do/);
  assert.match(image, /index \.SBOM \\"linux\/\$architecture\\"\)\.SPDX/);
});
