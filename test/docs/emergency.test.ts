import assert from 'node:assert/strict';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { securePortOf } from '../../src/cli/install/move-kube-apiserver.ts';
import { nodeComponents } from '../../src/cli/install/node-components.ts';
import { findKubectls, kubectlMissing } from '../support/clients/kubectl.ts';
import { runCommand } from '../support/commands/command-context.ts';
import { controlPlaneNode, kubeApiServerManifest } from '../support/installation/control-plane-node.ts';
import { componentKubeconfig } from '../support/installation/kubeadm-layout.ts';
import { commandsOf, isCommandBlock } from './support/command-lines.ts';
import { readPage } from './support/pages.ts';
import { runInShell } from './support/shell-session.ts';

const page = readPage('docs/guides/emergency.md');
const commands = page.blocks.filter(isCommandBlock).flatMap(commandsOf);
const commandWith = (part: string) => {
  const found = commands.find(({ command }) => command.includes(part));
  assert.ok(found, part);
  return found;
};
const runAt = (directory: string, command: (typeof commands)[number]) =>
  runInShell([command], { directory, environment, timeout: 120_000 });
const environment = { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent' };

test('the API server behind the router is asked by the very command of the page', {
  skip: findKubectls().length === 0 ? kubectlMissing : false,
}, async (context) => {
  const node = await controlPlaneNode(context);
  const shown = commandWith('https://127.0.0.1:6444');
  const command = shown.command
    .replace('/etc/kubernetes', join(node.root, 'etc/kubernetes'))
    .replace('https://127.0.0.1:6444', node.api.url);
  const [result] = await runAt(node.root, { ...shown, command });
  assert.ok(result);
  assert.equal(result.exitCode, 0, result.written);
  assert.match(result.written, /^cp-a /m);
});

test('kube-apiserver is moved back by the edit of the page, whoever has moved it', async (context) => {
  const node = await controlPlaneNode(context);
  assert.equal((await node.install()).errors, '');
  assert.equal(securePortOf(await node.text(kubeApiServerManifest)), node.otherPort);
  const shown = commandWith('/root/kube-apiserver.yaml');
  const command = shown.command
    .replace('6444', String(node.otherPort))
    .replace('6443', String(node.port))
    .replace('/etc/kubernetes', join(node.root, 'etc/kubernetes'))
    .replace('/root', node.root);
  const [result] = await runAt(node.root, { ...shown, command });
  assert.ok(result);
  assert.equal(result.exitCode, 0, result.written);
  assert.equal(securePortOf(await readFile(join(node.root, 'kube-apiserver.yaml'), 'utf8')), node.port);
});

test('controller manager and scheduler are led back by the edit of the page', async (context) => {
  const node = await controlPlaneNode(context, { components: true });
  assert.equal((await node.installBeside('--components')).errors, '');
  const shown = commandWith('controller-manager.conf');
  const command = shown.command
    .replace('7443', String(node.routerPort))
    .replace('6443', String(node.port))
    .replaceAll('/etc/kubernetes', join(node.root, 'etc/kubernetes'));
  const [result] = await runAt(node.root, { ...shown, command });
  assert.ok(result);
  assert.equal(result.exitCode, 0, result.written);
  for (const { name, kubeconfig } of nodeComponents) {
    assert.equal(await node.text(kubeconfig), componentKubeconfig(name, node.port));
  }
});

test('the file that passes everything through, and the setting for HTTP/1.1, are taken', async (context) => {
  const node = await controlPlaneNode(context);
  const pki = join(node.root, 'etc/kubernetes/pki');
  await cp(pki, join(node.root, 'pki'), { recursive: true });
  const [passing, http1] = page.blocks
    .filter(({ language }) => language === 'yaml')
    .map(({ lines }) => lines.join('\n').replaceAll('/etc/kubernetes/pki', pki));
  assert.ok(passing !== undefined && http1 !== undefined);
  const [heading = '', setting = ''] = http1.split('\n');
  for (const text of [passing, passing.replace(heading, `${heading}\n${setting}`)]) {
    const files = new Map([['config.yaml', text]]);
    for (const [path] of text.matchAll(/(?<=: )\/\S+/g)) files.set(path, await readFile(path, 'utf8'));
    const { code, errors, output } = await runCommand(files, ['serve', '--dry-run', '--config=config.yaml']);
    assert.equal(code, 0, errors);
    assert.match(output, /UnknownVersionInteroperabilityProxy=false/);
  }
});
