import { test } from 'node:test';
import { type GetSuite, kubectls, namespace, routerContexts } from './live-suite.ts';

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.live.example.com' },
  spec: {
    group: 'live.example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                description: 'What is wanted.',
                'x-kubernetes-preserve-unknown-fields': true,
              },
            },
          },
        },
      },
    ],
  },
};

/** A custom resource is everybody's as soon as it is established, whichever way its definition came. */
export function registerCustomResourceCases(suite: GetSuite): void {
  for (const kubectl of kubectls) {
    test(`kubectl ${kubectl.version}: a CustomResourceDefinition made through one router is usable through all`, async () => {
      const { ok, run, cluster } = suite();
      await ok(kubectl, 'router-a', ['create', '-f', '-'], JSON.stringify(definition));
      await ok(kubectl, 'router-a', ['wait', '--for=condition=Established', 'crd/widgets.live.example.com']);
      for (const { name } of cluster.servers) {
        // Each server installs its own handler for it; that takes it a moment. Through the routers it takes no longer.
        await until(() => run(kubectl, `direct-${name}`, ['get', 'widgets', '-n', namespace]));
      }
      for (const context of routerContexts) {
        // Without the flag, kubectl complains that there are no widgets.
        await ok(kubectl, context, ['get', 'widgets', '-n', namespace, '--ignore-not-found']);
        const name = `widget-of-${context}`;
        const manifest = JSON.stringify({
          apiVersion: 'live.example.com/v1',
          kind: 'Widget',
          metadata: { name },
          spec: { context },
        });
        await ok(kubectl, context, ['-n', namespace, 'create', '-f', '-'], manifest);
      }
      for (const context of routerContexts) {
        const watch = suite().watch(kubectl, context, ['-n', namespace, 'widgets', 'widget-of-router-c']);
        await watch.saw('ADDED').finally(() => watch.stop());
        await until(() => run(kubectl, context, ['explain', 'widgets.spec']));
      }
      await ok(kubectl, 'router-c', ['delete', 'crd', 'widgets.live.example.com']);
    });
  }
}

async function until(
  command: () => Promise<{ readonly code: number; readonly stderr: string }>,
): Promise<void> {
  let last = '';
  for (let attempt = 0; attempt < 40; attempt++) {
    const { code, stderr } = await command();
    if (code === 0) return;
    last = stderr;
  }
  throw new Error(`never worked: ${last}`);
}
