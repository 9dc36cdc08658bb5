import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createAuthority } from '../support/certificates.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { commandsOf, isCommandBlock } from './support/command-lines.ts';
import { readPage } from './support/pages.ts';
import { runInShell } from './support/shell-session.ts';

const missing = ['openssl', 'kubectl'].filter((name) => spawnSync(name, ['version', '--client']).error);
const skip = missing.length > 0 && `not on PATH: ${missing.join(' and ')}`;

test("the reader's certificate and kubeconfig are made as the page says, and nothing else is left behind", {
  skip,
}, async (context) => {
  const directory = await temporaryDirectory(context);
  const [pki, made] = [join(directory, 'pki'), join(directory, 'made')];
  await Promise.all([mkdir(pki), mkdir(made)]);
  const authority = await createAuthority('kubernetes');
  await writeFile(join(pki, 'ca.crt'), authority.certificate);
  await writeFile(join(pki, 'ca.key'), authority.privateKey);
  const commands = readPage('docs/guides/certificates.md')
    .blocks.filter(isCommandBlock)
    .flatMap(commandsOf)
    .map((shown) => ({ ...shown, command: shown.command.replaceAll('/etc/kubernetes/pki', pki) }));
  const environment = { PATH: process.env['PATH'] ?? '', HOME: directory };
  const results = await runInShell(commands, { directory: made, environment, timeout: 120_000 });
  assert.ok(results.length > 0);
  for (const { command, exitCode, written } of results) assert.equal(exitCode, 0, `${command}\n${written}`);

  assert.deepEqual((await readdir(pki)).sort(), ['ca.crt', 'ca.key']);
  assert.deepEqual((await readdir(made)).sort(), ['reader.crt', 'reader.key', 'reader.kubeconfig']);
  const certificate = new X509Certificate(await readFile(join(made, 'reader.crt')));
  assert.ok(certificate.verify(new X509Certificate(authority.certificate).publicKey));
  assert.equal(certificate.subject, 'CN=mixed-version-proxy-reader');
  // RFC 5280 section 4.2.1.12: id-kp-clientAuth.
  assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.2']);
});
