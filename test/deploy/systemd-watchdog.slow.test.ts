import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { generateSigningKey } from '../../src/snapshot/signing/seal.ts';
import { type CertificatePair, createAuthority } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const root = resolve(import.meta.dirname, '../..');
const units = ['mixed-version-proxy', 'mixed-version-proxy-sync'] as const;
const systemd = '/lib/systemd/systemd';
const unshare = [
  '--pid',
  '--fork',
  '--mount',
  '--cgroup',
  '--ipc',
  '--uts',
  '--net',
  '--mount-proc',
  '--kill-child',
];

/** Nobody is there: router and sync job go on trying. */
function kubeconfig(ca: string, { certificate, privateKey }: CertificatePair): string {
  const data = (pem: string): string => Buffer.from(pem).toString('base64');
  const cluster = { server: 'https://127.0.0.1:1', 'certificate-authority-data': data(ca) };
  const user = { 'client-certificate-data': data(certificate), 'client-key-data': data(privateKey) };
  return JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'x' },
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  });
}

const configuration = `apiVersion: mixed-version-proxy/v1alpha1
kind: RouterConfiguration
gateway: true
serving:
  port: 6443
  bindAddress: 127.0.0.1
  certFile: /etc/mixed-version-proxy/tls.crt
  keyFile: /etc/mixed-version-proxy/tls.key
peers: { caFile: /etc/mixed-version-proxy/ca.crt }
apiServers: { kubeconfig: /etc/mixed-version-proxy/kubeconfig }
snapshot: { file: /var/lib/mixed-version-proxy/snapshot }
`;

/** The files of docs/start/install-systemd.md, in a folder for each unit. */
async function writeFiles(folder: string): Promise<void> {
  const authority = await createAuthority('systemd');
  const serving = await authority.issue({ commonName: 'router', dnsNames: ['localhost'], usage: 'server' });
  const client = await authority.issue({ commonName: 'mixed-version-proxy-sync', usage: 'client' });
  const config = kubeconfig(authority.certificate, client);
  const { privateJwk, publicJwk } = await generateSigningKey('EdDSA');
  const files = {
    'mixed-version-proxy': {
      kubeconfig: config,
      'config.yaml': configuration,
      'ca.crt': authority.certificate,
      'tls.crt': serving.certificate,
      'tls.key': serving.privateKey,
    },
    'mixed-version-proxy-sync': {
      kubeconfig: config,
      'snapshot-signing-key.json': JSON.stringify(privateJwk),
      'snapshot-keys.json': JSON.stringify({ keys: [publicJwk] }),
      'router-ca.crt': authority.certificate,
      environment: 'TARGETS=--target=https://127.0.0.1:1\n',
    },
  };
  for (const [unit, texts] of Object.entries(files)) {
    await mkdir(join(folder, unit));
    for (const [name, text] of Object.entries(texts)) await writeFile(join(folder, unit, name), text);
  }
}

/**
 * In namespaces of its own: a machine with both installed, and systemd as its first process. The units are those of
 * deploy/systemd; of WatchdogSec= the test has less, and nothing else of the machine is started.
 */
const boot = (folder: string): string => `set -e
mount --make-rprivate /
ip link set lo up
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount --bind ${root} /opt
for path in /run /var/lib /var/log /usr/local/bin; do mount -t tmpfs tmpfs "$path"; done
mkdir /run/upper /run/work
mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/upper,workdir=/run/work /etc
printf '#!/bin/sh\\nexec /opt/node_modules/.bin/node /opt/src/cli/main.ts "$@"\\n' > /usr/local/bin/mixed-version-proxy
chmod 755 /usr/local/bin/mixed-version-proxy
for unit in ${units.join(' ')}; do
  useradd --system --user-group --no-create-home --home-dir "/var/lib/$unit" "$unit"
  cp -r "${folder}/$unit" /etc/
  chgrp -R "$unit" "/etc/$unit"
  chmod -R u=rwX,g=rX,o= "/etc/$unit"
  cp "/opt/deploy/systemd/$unit.service" /etc/systemd/system/
  mkdir "/etc/systemd/system/$unit.service.d"
  printf '[Unit]\\nDefaultDependencies=no\\nWants=\\nAfter=\\n[Service]\\nWatchdogSec=10\\nStandardError=append:/var/log/%s\\n' "$unit" \\
    > "/etc/systemd/system/$unit.service.d/test.conf"
done
printf '[Unit]\\nWants=${units.map((unit) => `${unit}.service`).join(' ')}\\n' > /etc/systemd/system/test.target
mkdir /run/systemd
container=test exec ${systemd} --system --unit=test.target --log-target=null`;

/** A cgroup of its own below that of this process, so that nothing of the machine's own systemd is touched. */
function ownCgroup(): string {
  const [mount = ''] = execFileSync('findmnt', ['-n', '-o', 'TARGET', '-t', 'cgroup2'], {
    encoding: 'utf8',
  }).split('\n');
  const [, current = ''] = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8')) ?? [];
  return join(mount, current, `mixed-version-proxy-test-${process.pid}`);
}

function missing(): string | false {
  if (spawnSync(systemd, ['--version']).error !== undefined)
    return `no ${systemd} (Debian: apt install systemd)`;
  const { status } = spawnSync('unshare', [...unshare, 'mount', '-t', 'cgroup2', 'none', '/sys/fs/cgroup']);
  return status === 0 ? false : 'namespaces need root, and more rights than a container has';
}

async function startSystemd(context: TestContext) {
  const folder = await temporaryDirectory(context);
  await writeFiles(folder);
  const cgroup = ownCgroup();
  mkdirSync(cgroup);
  const enter = `echo $$ > ${cgroup}/cgroup.procs && exec unshare "$@"`;
  const child = spawn('/bin/sh', ['-c', enter, 'sh', ...unshare, '/bin/sh', '-c', boot(folder)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const closed = once(child, 'close');
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  context.after(async () => {
    child.kill('SIGKILL');
    await closed;
    await eventually(() => spawnSync('find', [cgroup, '-depth', '-type', 'd', '-delete']).status === 0);
  });
  const inside = (...words: string[]): string => {
    const [pid = ''] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ');
    return execFileSync('nsenter', ['--target', pid, '--mount', '--pid', ...words], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  };
  return {
    inside,
    /** Property of a unit, by name. */
    property(unit: string, name: string): number {
      assert.equal(child.exitCode, null, errors);
      try {
        return Number(inside('systemctl', 'show', '--value', '--property', name, `${unit}.service`));
      } catch {
        // The process is not up yet.
        return 0;
      }
    },
  };
}

test('systemd starts a router and a sync job again that stand still, and lets others run', {
  skip: missing(),
}, async (context) => {
  const { inside, property } = await startSystemd(context);
  await Promise.all(
    units.map(async (unit) => {
      const isHeardAgain = async () => {
        const heardAt = () => property(unit, 'WatchdogTimestampMonotonic');
        const before = heardAt();
        await eventually(() => heardAt() > before && property(unit, 'MainPID') > 0).catch(() =>
          assert.fail(`${unit} is not heard of: ${inside('cat', `/var/log/${unit}`)}`),
        );
      };
      await isHeardAgain();
      await isHeardAgain();
      const restarts = property(unit, 'NRestarts');
      // For longer than systemd waits: it hears of them three times in that time.
      for (let time = 0; time < 4; time++) await isHeardAgain();
      assert.equal(property(unit, 'NRestarts'), restarts);
      const stuck = property(unit, 'MainPID');
      inside('kill', '-STOP', String(stuck));
      await eventually(() => property(unit, 'NRestarts') === restarts + 1);
      await isHeardAgain();
      assert.notEqual(property(unit, 'MainPID'), stuck);
    }),
  );
});
