import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { writeKubeconfig } from '../../demo/kubeconfig.ts';
import { serveFlags } from '../../demo/routers.ts';
import { validateServeOptions } from '../../src/cli/serve/router-config.ts';
import type { RunningRouter } from '../../src/node/configuration/serve-config.ts';
import { startRouter } from '../../src/node/process/start-router.ts';
import type { RouterStatus } from '../../src/own-paths/status/status-schema.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { findKubectls, type Kubectl, kubectlMissing, runKubectl, spawnKubectl } from '../support/kubectl.ts';
import type { DemoUnderTest } from '../support/running-demo.ts';
import { sharedDemo } from './shared-demo.ts';

/** What only one of the three servers serves. */
const exclusive = [
  'horizontalpodautoscalers.v2beta2.autoscaling',
  'flowschemas.v1beta3.flowcontrol.apiserver.k8s.io',
  'validatingadmissionpolicies.v1.admissionregistration.k8s.io',
];

const kubectls = findKubectls();

describe('kubectl through a gateway', { skip: kubectls.length === 0 && kubectlMissing }, () => {
  let running: DemoUnderTest;
  let gateway: RunningRouter;
  let kubeconfig: string;
  before(async () => {
    running = await sharedDemo();
    gateway = await startGateway(running);
    const { certificates } = running.demo;
    kubeconfig = await writeKubeconfig(join(running.home, 'gateway.kubeconfig'), {
      servers: { gateway: gateway.origin },
      certificateAuthority: certificates.clusterCa,
      users: { admin: certificates.admin, alice: certificates.alice },
    });
  });
  after(async () => {
    await gateway?.close(0);
  });

  /** In front of the three API servers, by a snapshot that the sync job has given to a router. */
  async function startGateway({ demo, home }: DemoUnderTest): Promise<RunningRouter> {
    const [apiServer] = demo.apiServers;
    assert.ok(apiServer);
    const snapshotFile = join(home, 'gateway-snapshot');
    await copyFile(join(home, '.demo/snapshots', apiServer.serverId), snapshotFile);
    const {
      'server-id': _serverId,
      'local-server': _localServer,
      ...flags
    } = serveFlags({
      apiServer,
      certificates: demo.certificates,
      snapshotKeys: join(home, '.demo/keys/snapshot-keys.json'),
      snapshotFile,
      logger: silentLogger,
    });
    const result = await validateServeOptions(
      { ...flags, gateway: ['true'], 'health-check-interval': ['500ms'] },
      {
        readFile: (path) => readFileSync(path, 'utf8'),
        network: { addresses: [], defaultRouteInterfaces: [] },
        now: Date.now(),
      },
    );
    assert.ok(result.ok, JSON.stringify(result));
    return startRouter(result.config, silentLogger);
  }

  const run = async (kubectl: Kubectl, ...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runKubectl(kubectl, running.home, [
      '--kubeconfig',
      kubeconfig,
      ...args,
    ]);
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
    return stdout;
  };

  for (const kubectl of kubectls) {
    const where = `kubectl ${kubectl.version}`;

    test(`${where}: sees what all servers serve together, and who it is`, async () => {
      const listed = await run(kubectl, 'api-resources', '-o', 'name');
      assert.match(listed, /^validatingadmissionpolicies\.admissionregistration\.k8s\.io$/m);
      const versions = await run(kubectl, 'api-versions');
      assert.match(versions, /^autoscaling\/v2beta2$/m);
      const alice = JSON.parse(
        await run(kubectl, '--context', 'alice@gateway', 'auth', 'whoami', '-o', 'json'),
      );
      assert.deepEqual(alice.status.userInfo.groups, ['dev', 'qa', 'system:authenticated']);
    });

    test(`${where}: reads what only one server serves, and explains it`, async () => {
      for (const resource of exclusive) await run(kubectl, 'get', resource, '-o', 'name');
      assert.match(await run(kubectl, 'explain', 'validatingadmissionpolicies.spec'), /What is wanted of/);
      assert.match(await run(kubectl, 'version'), /Server Version/);
    });

    test(`${where}: writes and watches through whichever server`, async () => {
      const name = `gateway-${kubectl.version.replaceAll('.', '-')}`;
      const watching = spawnKubectl(kubectl, running.home, [
        '--kubeconfig',
        kubeconfig,
        ...['get', 'configmaps', '--watch-only', '-o', 'name'],
      ]);
      try {
        // Whether it listens already cannot be seen: a change is made until one is.
        const seen = watching.stdout && once(watching.stdout, 'data');
        let isSeen = false;
        void seen?.then(() => {
          isSeen = true;
        });
        for (let attempt = 0; attempt < 100 && !isSeen; attempt++) {
          await run(kubectl, 'create', 'configmap', name, `--from-literal=attempt=${attempt}`);
          await run(kubectl, 'delete', 'configmap', name);
        }
        assert.equal(isSeen, true);
      } finally {
        watching.kill();
      }
    });
  }

  test('the gateway names itself in its status, with the health of the three servers', async () => {
    const [kubectl] = kubectls;
    assert.ok(kubectl);
    const status = JSON.parse(
      await run(kubectl, 'get', '--raw', '/.mixed-version-proxy/v1/status'),
    ) as RouterStatus;
    assert.deepEqual([status.form, status.serverId], ['gateway', null]);
    assert.deepEqual(
      status.servers.map(({ health }) => health.status),
      ['healthy', 'healthy', 'healthy'],
    );
  });
});
