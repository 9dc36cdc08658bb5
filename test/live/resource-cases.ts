import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubectlName, manifestOf } from './exclusive-resources.ts';
import { type GetSuite, kubectls, namespace } from './live-suite.ts';

/** Every verb on what the server behind the router does not serve. */
export function registerResourceCases(suite: GetSuite): void {
  for (const kubectl of kubectls) {
    for (const [context, side] of [
      ['router-a', 'newer'],
      ['gateway', 'newer'],
      ['router-c', 'older'],
      ['gateway', 'older'],
    ] as const) {
      test(`kubectl ${kubectl.version}, ${context}: create, watch, apply, patch, get, list and delete what only the ${side} serves`, async () => {
        const { ok, run, ...resources } = suite();
        const resource = resources[side];
        const name = `${side}-${context}-${kubectl.version}`.replaceAll('.', '-');
        const scope = resource.namespaced ? ['-n', namespace] : [];
        const manifest = manifestOf(resource, name);
        const named = [...scope, kubectlName(resource), name];
        const command = (args: readonly string[], input?: string) => ok(kubectl, context, args, input);

        await command([...scope, 'create', '-f', '-'], manifest);
        const watch = suite().watch(kubectl, context, named);
        try {
          await watch.saw('ADDED');
          await command([...scope, 'apply', '--server-side', '--force-conflicts', '-f', '-'], manifest);
          await command(['patch', ...named, '--type=merge', '-p', JSON.stringify(resource.patch)]);
          await watch.saw('MODIFIED');
          const got = JSON.parse(await command(['get', ...named, '-o', 'json']));
          assert.equal(got.apiVersion, resource.apiVersion);
          assert.deepEqual({ ...got.spec, ...resource.patch.spec }, got.spec);
          const list = await command(['get', ...scope, kubectlName(resource), '-o', 'name']);
          assert.match(list, new RegExp(`/${name}$`, 'm'));
          await command(['delete', ...named]);
          await watch.saw('DELETED');
        } finally {
          await watch.stop();
        }
        const gone = await run(kubectl, context, ['get', ...named]);
        assert.match(gone.stderr, /NotFound/);
      });
    }

    test(`kubectl ${kubectl.version}: directly, neither server knows what the other one serves`, async () => {
      const { run, newer, older } = suite();
      for (const [context, resource] of [
        ['direct-a', newer],
        ['direct-c', older],
      ] as const) {
        const { code, stderr } = await run(kubectl, context, ['get', kubectlName(resource)]);
        assert.equal(code, 1);
        assert.match(stderr, /doesn't have a resource type|could not find the requested resource/);
      }
    });
  }
}
