import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import type { KubernetesVersionName } from '../../demo/example-api-server/index.ts';
import { findKubectls, type Kubectl, kubectlMissing, runKubectl, spawnKubectl } from '../support/kubectl.ts';
import { createPki, startServer } from './support.ts';

const kubectls = findKubectls();
if (kubectls.length === 0) {
  console.error(`example API server: ${kubectlMissing}`);
  it('works with kubectl', { skip: kubectlMissing }, () => undefined);
}

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

/** Whether `kubectl auth whoami` can work: the version of Kubernetes has a SelfSubjectReview that kubectl knows. */
function knowsSelfSubjectReview(server: KubernetesVersionName, kubectl: Kubectl): boolean {
  // v1alpha1 alone in 1.26, v1 alone in 1.36, which kubectl asks for since 1.28.
  return server === '1.26' || (server === '1.36' && kubectl.version !== '1.27');
}

/** kubectl execs over WebSocket since 1.30; before, over SPDY. */
function speaksWebSocket({ version }: Kubectl): boolean {
  return Number(version.split('.')[1]) >= 30;
}

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

      it('version, api-versions and api-resources tell what the version serves', async () => {
        assert.match(await run(['version']), new RegExp(`v${version}\\.0`));
        const served = (await run(['api-versions'])).split('\n');
        assert.equal(served.includes('autoscaling/v2beta2'), version === '1.25');
        assert.equal(served.includes('resource.k8s.io/v1'), version === '1.36');
        const resources = await run(['api-resources']);
        assert.match(resources, /^deployments +deploy +apps\/v1 +true +Deployment$/m);
      });

      it('create, get, label, patch and delete work on stored objects', async () => {
        assert.equal(await run(['create', 'configmap', 'c', '--from-literal=a=1']), 'configmap/c created');
        assert.equal(await run(['label', 'configmap', 'c', 'x=y']), 'configmap/c labeled');
        assert.equal(
          await run(['patch', 'configmap', 'c', '-p', '{"data":{"b":"2"}}']),
          'configmap/c patched',
        );
        const operations = '[{"op":"remove","path":"/data/a"}]';
        await run(['patch', 'configmap', 'c', '--type=json', '-p', operations]);
        assert.equal(await run(['get', 'configmap', 'c', '-o', 'jsonpath={.data}']), '{"b":"2"}');
        assert.match(await run(['get', 'cm', '-l', 'x=y']), /^NAME +DATA +AGE\nc +1 /);
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

      it('apply merges on the client and on the server, and notices when nothing changes', async () => {
        assert.equal(await apply(deployment('one')), 'deployment.apps/web created');
        assert.equal(await apply(deployment('two')), 'deployment.apps/web configured');
        assert.equal(await apply(deployment('two')), 'deployment.apps/web unchanged');
        const images = ['get', 'deployment', 'web', '-o', 'jsonpath={..image}'];
        assert.equal(await run(images), 'two busybox');
        const applied = await apply(deployment('three'), '--server-side', '--force-conflicts');
        assert.equal(applied, 'deployment.apps/web serverside-applied');
        assert.equal(await run(images), 'three busybox');
        assert.equal(await apply(pod, '--dry-run=server'), 'pod/p unchanged (server dry run)');
      });

      it('scale and subresources reach their part of an object', async () => {
        await apply(deployment('one'));
        assert.equal(await run(['scale', 'deployment', 'web', '--replicas=5']), 'deployment.apps/web scaled');
        assert.equal(await run(['get', 'deployment', 'web', '-o', 'jsonpath={.spec.replicas}']), '5');
        assert.match(await run(['get', 'pod', 'p', '--subresource=status']), /^p +1\/1 +Running/m);
        assert.match(await run(['get', 'all']), /^deployment\.apps\/web +0\/5/m);
      });

      it('explain describes a kind and a field', async () => {
        assert.match(await run(['explain', 'pods']), /KIND: +Pod\nVERSION: +v1/);
        assert.match(await run(['explain', 'cronjobs.spec']), /GROUP: +batch\nKIND: +CronJob/);
      });

      it('get -w follows', async () => {
        const child = spawnKubectl(kubectl, home, [...connection, 'get', 'secrets', '-w', '--no-headers']);
        assert.ok(child.stdout !== null);
        const lines = createInterface({ input: child.stdout });
        const first = once(lines, 'line');
        await run(['create', 'secret', 'generic', 'w', '--from-literal=a=1']);
        const [line] = await first;
        child.kill();
        assert.match(String(line), /^w +Opaque +1/);
      });

      it('logs, exec and auth can-i answer', async () => {
        assert.match(await run(['logs', 'p']), /line 3 of default\/p\/main from server-.* to alice/);
        assert.equal(await run(['auth', 'can-i', 'list', 'pods']), 'yes');
        assert.match(await run(['auth', 'can-i', '--list']), /^\*\.\* +\[\] +\[\] +\[\*\]$/m);
        const exec = await attempt(['exec', '-i', 'p', '--', 'ls', '-l'], 'typed\n');
        if (speaksWebSocket(kubectl)) {
          assert.equal(exec.code, 0, exec.stderr);
          assert.match(exec.stdout, /^user: alice$/m);
          assert.match(exec.stdout, /^command: "ls" "-l"\ntyped$/m);
        } else {
          assert.match(exec.stderr, /streams over WebSocket only, not SPDY\/3\.1/);
        }
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

      it('auth whoami shows who arrived, where the version knows', async () => {
        const { code, stdout, stderr } = await attempt(['auth', 'whoami']);
        if (knowsSelfSubjectReview(version, kubectl)) {
          assert.match(stdout, /^Username +alice\nGroups +\[system:masters system:authenticated\]/m);
        } else {
          assert.equal(code, 1);
          assert.match(stderr, /the selfsubjectreviews API is not enabled in the cluster/);
        }
      });
    });
  }
}
