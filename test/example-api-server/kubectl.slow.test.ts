import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findKubectls, kubectlMissing, runKubectl } from '../support/clients/kubectl.ts';
import { createPki, startServer } from './support.ts';

const kubectls = findKubectls();
if (kubectls.length === 0) {
  console.error(`example API server: ${kubectlMissing}`);
  it('works with kubectl', { skip: kubectlMissing }, () => undefined);
}

// Cases that the demo shows through its routers are in test/e2e/kubectl-cases.ts.

const deployment = (image: string): string => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, labels: { app: web } }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
      - { name: a, image: ${image} }
      - { name: b, image: busybox, env: [{ name: X, value: "1" }] }
`;
const pod = `
apiVersion: v1
kind: Pod
metadata: { name: p, labels: { app: web } }
spec: { containers: [{ name: main, image: nginx }] }
`;

for (const kubectl of kubectls) {
  for (const version of ['1.25', '1.26', '1.36'] as const) {
    describe(`kubectl ${kubectl.version} with an example API server of ${version}`, async () => {
      const pki = await createPki();
      const server = await startServer(pki, version, { bookmarkIntervalMilliseconds: 50 });
      const home = await mkdtemp(join(tmpdir(), 'example-api-server-'));
      after(() => rm(home, { recursive: true, force: true }));
      const files = {
        'ca.crt': pki.serving.certificate,
        'user.crt': pki.admin.chain,
        'user.key': pki.admin.privateKey,
      };
      for (const [name, content] of Object.entries(files)) await writeFile(join(home, name), content);
      const connection = [
        `--server=${server.url}`,
        `--certificate-authority=${join(home, 'ca.crt')}`,
        `--client-certificate=${join(home, 'user.crt')}`,
        `--client-key=${join(home, 'user.key')}`,
      ];
      const attempt = (args: readonly string[], input?: string) =>
        runKubectl(kubectl, home, [...connection, ...args], input);
      /** Runs kubectl, which must succeed, and answers what it printed. */
      const run = async (args: readonly string[], input?: string): Promise<string> => {
        const { code, stdout, stderr } = await attempt(args, input);
        assert.equal(code, 0, `kubectl ${args.join(' ')}\n${stdout}${stderr}`);
        return stdout.trim();
      };
      const apply = (manifest: string, ...options: readonly string[]) =>
        run(['apply', ...options, '-f', '-'], manifest);

      before(async () => {
        assert.equal(await apply(pod), 'pod/p created');
      });

      it('create, patch, get and delete work on stored objects', async () => {
        assert.equal(await run(['create', 'configmap', 'c', '--from-literal=a=1']), 'configmap/c created');
        const operations = '[{"op":"replace","path":"/data/a","value":"2"}]';
        await run(['patch', 'configmap', 'c', '--type=json', '-p', operations]);
        assert.match(await run(['get', 'cm', 'c']), /^NAME +DATA +AGE\nc +1 /);
        assert.equal(await run(['get', 'configmap', 'c', '-o', 'jsonpath={.data}']), '{"a":"2"}');
        assert.equal(await run(['delete', 'configmap', 'c']), 'configmap "c" deleted');
        const { code, stderr } = await attempt(['get', 'configmap', 'c']);
        assert.equal(code, 1);
        assert.equal(stderr.trim(), 'Error from server (NotFound): configmaps "c" not found');
      });

      it('create works through the typed clients, which newer kubectls speak protobuf with', async () => {
        assert.equal(await run(['create', 'namespace', 'n']), 'namespace/n created');
        assert.equal(
          await run(['create', 'deployment', 'd', '--image=nginx', '-n', 'n']),
          'deployment.apps/d created',
        );
        await run(['create', 'job', 'j', '--image=nginx', '-n', 'n']);
        await run(['create', 'secret', 'generic', 's', '--from-literal=k=v', '-n', 'n']);
        await run(['create', 'clusterrole', 'r', '--verb=get', '--resource=pods']);
        const image = await run(['get', 'deployment', 'd', '-n', 'n', '-o', 'jsonpath={..image}']);
        assert.equal(image, 'nginx');
        assert.equal(await run(['get', 'secret', 's', '-n', 'n', '-o', 'jsonpath={.data.k}']), 'dg==');
        assert.equal(
          await run(['get', 'clusterrole', 'r', '-o', 'jsonpath={.rules[0].resources[0]}']),
          'pods',
        );
        await run(['autoscale', 'deployment', 'd', '--max=3', '-n', 'n']);
        const limits = ['get', 'hpa', 'd', '-n', 'n', '-o', 'jsonpath={.spec.maxReplicas}'];
        assert.equal(await run(limits), '3');
        await run(['create', 'ingress', 'i', '--rule=foo.com/bar=s:80', '-n', 'n']);
        const path = ['get', 'ingress', 'i', '-n', 'n', '-o', 'jsonpath={.spec.rules[0].http.paths[0].path}'];
        assert.equal(await run(path), '/bar');
        await run(['create', 'pdb', 'b', '--selector=a=b', '--min-available=50%', '-n', 'n']);
        assert.equal(await run(['get', 'pdb', 'b', '-n', 'n', '-o', 'jsonpath={.spec.minAvailable}']), '50%');
        await run(['create', 'priorityclass', 'low', '--value=-10']);
        await run(['create', 'quota', 'q', '--hard=cpu=1', '-n', 'n']);
        assert.equal(await run(['delete', 'namespace', 'n']), 'namespace "n" deleted');
        const again = await attempt(['create', 'namespace', 'default']);
        assert.match(again.stderr, /\(AlreadyExists\): namespaces "default" already exists/);
      });

      it('scale and subresources reach their part of an object', async () => {
        await apply(deployment('nginx'));
        assert.equal(await run(['scale', 'deployment', 'web', '--replicas=5']), 'deployment.apps/web scaled');
        assert.equal(await run(['get', 'deployment', 'web', '-o', 'jsonpath={.spec.replicas}']), '5');
        assert.match(await run(['get', 'pod', 'p', '--subresource=status']), /^p +1\/1 +Running/m);
        assert.match(await run(['get', 'all']), /^deployment\.apps\/web +0\/5/m);
      });

      it('explain describes a kind and a field', async () => {
        assert.match(await run(['explain', 'pods']), /KIND: +Pod\nVERSION: +v1/);
        assert.match(await run(['explain', 'cronjobs.spec']), /GROUP: +batch\nKIND: +CronJob/);
      });

      it('logs and auth can-i answer', async () => {
        assert.match(await run(['logs', 'p']), /line 3 of default\/p\/main from server-.* to alice/);
        assert.equal(await run(['auth', 'can-i', 'list', 'pods']), 'yes');
        assert.match(await run(['auth', 'can-i', '--list']), /^\*\.\* +\[\] +\[\] +\[\*\]$/m);
      });

      it('debug adds a container that runs, or a copy of the pod', async () => {
        assert.equal(await run(['debug', 'p', '--image=busybox', '--container=d', '--profile=general']), '');
        const running = ['get', 'pod', 'p', '-o', 'jsonpath={.status.ephemeralContainerStatuses[0].name}'];
        assert.equal(await run(running), 'd');
        await run(['debug', 'p', '--image=busybox', '--copy-to=copy', '--profile=general']);
        assert.match(await run(['get', 'pod', 'copy', '-o', 'jsonpath={..image}']), /busybox/);
      });

      it('wait sees a condition, by a list and a watch', async () => {
        assert.equal(await run(['wait', '--for=condition=Ready', 'pod/p']), 'pod/p condition met');
        await run(['create', 'configmap', 'waited', '--from-literal=k=before']);
        const waiting = run(['wait', '--for=jsonpath={.data.k}=after', 'configmap/waited', '--timeout=60s']);
        await run(['patch', 'configmap', 'waited', '-p', '{"data":{"k":"after"}}']);
        assert.equal(await waiting, 'configmap/waited condition met');
      });
    });
  }
}
