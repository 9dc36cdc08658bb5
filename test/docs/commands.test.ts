import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { faultsOfCalls, isOurFlag } from './support/command-flags.ts';
import { commandsOf, isCommandBlock } from './support/command-lines.ts';
import { declarations } from './support/declarations.ts';
import type { FencedBlock } from './support/markdown-page.ts';
import { readPages, root } from './support/pages.ts';

/**
 * The commands of pages that are not run where they stand: what runs them instead, or why nothing does. The first row that
 * a command matches counts.
 */
interface Row {
  readonly command: RegExp;
  /** The test that runs such a command. */
  readonly test?: string;
  /** Why no test does. */
  readonly why?: string;
}

const ofHost = 'It changes the machine: users, services and files of the system, and containers of a node.';

const commandsElsewhere: readonly Row[] = [
  // This program.
  { command: /install kubeadm/, test: 'test/install-kubeadm.test.ts' },
  { command: /mixed-version-proxy keygen/, test: 'src/cli/commands/keygen.test.ts' },
  { command: /mixed-version-proxy explain/, test: 'src/cli/run-command-line.test.ts' },
  { command: /mixed-version-proxy status .*--all/, test: 'src/cli/status/several-routers.test.ts' },
  { command: /mixed-version-proxy status/, test: 'src/cli/status/status.test.ts' },
  { command: /mixed-version-proxy doctor --upgrade/, test: 'src/cli/doctor/upgrade-findings.test.ts' },
  { command: /mixed-version-proxy doctor/, test: 'src/cli/doctor/doctor.test.ts' },
  { command: /mixed-version-proxy sync --config/, test: 'src/cli/sync/sync-config-file.test.ts' },
  { command: /mixed-version-proxy sync --(?:from|once|record)/, test: 'src/cli/sync/sync-command.test.ts' },
  { command: /mixed-version-proxy sync/, test: 'src/cli/sync/sync-command-process.test.ts' },
  { command: /mixed-version-proxy serve .*--config/, test: 'src/cli/serve/serve-config-file.test.ts' },
  { command: /mixed-version-proxy serve --gateway/, test: 'lab/live/live.slow.test.ts' },
  { command: /mixed-version-proxy serve/, test: 'test/found-settings.test.ts' },
  // kubectl and helm.
  { command: /kubectl .*6444 .*get nodes/, test: 'test/docs/emergency.test.ts' },
  { command: /kubectl config /, test: 'test/docs/certificates-page.test.ts' },
  { command: /kubectl .*patch endpoints/, test: 'test/install-kubeadm.test.ts' },
  {
    command: /kubectl (?:apply|delete) -f deploy\/kubernetes\/pods-/,
    test: 'test/deploy/pods-through-router.test.ts',
  },
  { command: /kubectl (?:apply|delete) -f deploy\//, test: 'lab/live/live.slow.test.ts' },
  { command: /kubectl get --raw/, test: 'lab/live/live.slow.test.ts' },
  { command: /kubectl (?:api-resources|auth whoami)/, test: 'test/e2e/kubectl.test.ts' },
  { command: /helm (?:install|upgrade)/, test: 'lab/live/chart.slow.test.ts' },
  { command: /kubectl/, why: "A call of kubectl alone, of the operator's cluster." },
  // Certificates.
  { command: /openssl (?:req|x509 -req)|reader\.(?:ext|csr)/, test: 'test/docs/certificates-page.test.ts' },
  { command: /openssl/, why: "It looks at the operator's own certificates." },
  { command: /kubeadm (?:upgrade|certs)/, why: 'It needs kubeadm: lab/live/install upgrades with it.' },
  // Builds and suites.
  { command: /npm run package/, test: 'test/package/package.slow.test.ts' },
  { command: /npm start -- edge|KUBECONFIG=\.demo/, test: 'test/e2e/edge.test.ts' },
  { command: /npm run build -- --worker/, test: 'test/worker/wrangler.slow.test.ts' },
  { command: /npm start -- --upgrade/, test: 'test/demo/upgrade.slow.test.ts' },
  { command: /npm start/, test: 'test/e2e/demo.test.ts' },
  { command: /npm install --global/, why: ofHost },
  {
    command: /npm|MIXED_VERSION_PROXY_LIVE_ASSETS/,
    why: 'It runs the tests themselves, or measures for minutes.',
  },
  { command: /docker/, why: 'It needs a container engine: lab/live/image builds and runs the image.' },
  { command: /wrangler secret/, why: 'It needs an account at Cloudflare.' },
  // The machine.
  { command: /sed .*controller-manager\.conf/, test: 'test/docs/emergency.test.ts' },
  { command: /sed .*kube-apiserver\.yaml/, test: 'test/docs/emergency.test.ts' },
  { command: /haproxy/, why: `${ofHost} lab/live/install switches a HAProxy.` },
  {
    command:
      /^(?:sudo -u \S+ )?(?:chgrp|chmod|cp|crictl|curl|date|done|for|install|journalctl|jq|mv|rm|setfacl|systemctl|useradd|while)\b/,
    why: ofHost,
  },
];

const pages = await readPages();
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

/** Flags of other programs that sentences name. */
const flagsOfOthers: ReadonlySet<string> = new Set([
  // kube-apiserver
  ...['--anonymous-auth', '--authentication-kubeconfig', '--authorization-kubeconfig'],
  ...[
    '--emulated-version',
    '--permit-port-sharing',
    '--shutdown-send-retry-after',
    // wrangler
    '--env',
    '--endpoint-reconciler-type',
    '--runtime-config',
    '--service-account-extend-token-expiration',
  ],
  // helm
  '--take-ownership',
  // kubeadm, Node.js, h2load, workerd
  ...[
    '--patches',
    '--experimental',
    '--memory-reducer-gc-count',
    '--no-allocation-site-pretenuring',
    '--rps',
  ],
  // This project's scripts and test suites
  ...[
    '--against',
    '--attacks',
    '--rest',
    '--watches',
    '--tunnels',
    '--memory',
    '--directory',
    '--find',
    '--first-run',
    '--focus',
    '--only',
    '--processes',
    '--quick',
    '--record',
    '--runs',
    '--upgrade',
    '--upgrade-interval',
    '--ways',
  ],
]);

describe('the commands that the pages show', () => {
  test('are run, or say why they are not', () => {
    const undeclared = pages.flatMap(({ path, blocks }) =>
      blocks
        .filter(
          (block) => isCommandBlock(block) && !block.declarations.some((word) => declarations.has(word)),
        )
        .map(({ line }) => `${path}:${line}: say what to do with it (${[...declarations].join(', ')})`),
    );
    assert.deepEqual(undeclared, []);
  });

  test('have a test that runs them elsewhere, or a reason why none does, where the page itself is not run', () => {
    const notRun = pages.flatMap(({ path, blocks }) =>
      blocks
        .filter(
          (block) =>
            isCommandBlock(block) && !block.declarations.some((word) => word === 'run' || word === 'demo'),
        )
        .flatMap(commandsOf)
        .map(({ line, command }) => ({ where: `${path}:${line}: ${command}`, command })),
    );
    const rowOf = (command: string) => commandsElsewhere.find((row) => row.command.test(command));
    assert.deepEqual(
      notRun.filter(({ command }) => rowOf(command) === undefined).map(({ where }) => where),
      [],
    );
    const used = new Set(notRun.map(({ command }) => rowOf(command)));
    for (const row of commandsElsewhere) {
      assert.ok(used.has(row), `no page has a command for ${row.command}`);
      assert.ok(row.why !== undefined || existsSync(join(root, row.test ?? '')), `${row.test} is not there`);
    }
  });

  test('are in blocks that say that they hold commands', () => {
    const unmarked = pages.flatMap(({ path, blocks }) =>
      blocks
        .filter((block) => isCommandBlock(block) && block.language === '')
        .map(({ line }) => `${path}:${line}: begin it with \`\`\`sh or \`\`\`console`),
    );
    assert.deepEqual(unmarked, []);
  });

  test('use commands and flags that mixed-version-proxy has', () => {
    const faults = pages.flatMap(({ path, blocks }) =>
      blocks
        .filter(isCommandBlock)
        .flatMap(commandsOf)
        .flatMap(({ line, command }) => faultsOfCalls(command).map((fault) => `${path}:${line}: ${fault}`)),
    );
    assert.deepEqual(faults, []);
  });

  test('and the sentences around them name flags that there are', () => {
    const faults = pages.flatMap(({ path, prose }) =>
      prose.flatMap(({ line, text }) =>
        [...text.matchAll(/`(--[a-z][a-z0-9-]*)(\*|…)?[^`]*`/g)]
          .filter(([, flag = '', rest]) => !flagsOfOthers.has(flag) && !isOurFlag(flag, rest !== undefined))
          .map(([code]) => `${path}:${line}: no command has ${code}`),
      ),
    );
    assert.deepEqual(faults, []);
  });

  test('and the sentences around them name npm scripts that there are', () => {
    const faults = pages.flatMap(({ path, blocks, prose }) => {
      return [...prose, ...shownLines(blocks)].flatMap(({ line, text }) =>
        [...text.matchAll(/\bnpm run ([\w:-]+)/g)]
          .map(([, name = '']) => name.replace(/:$/, ''))
          .filter((name) => !Object.hasOwn(manifest.scripts, name))
          .map((name) => `${path}:${line}: there is no npm script ${name}`),
      );
    });
    assert.deepEqual(faults, []);
  });
});

test('the pages name tarballs by paths that npm does not take for owner/repository of GitHub', () => {
  const bare = pages.flatMap(({ path, blocks, prose }) =>
    [...prose, ...shownLines(blocks)].flatMap(({ line, text }) =>
      [...text.matchAll(/(?<![\w./-])[\w-]+\/\S+\.tgz\b/g)].map(
        ([name]) => `${path}:${line}: write ./${name}`,
      ),
    ),
  );
  assert.deepEqual(bare, []);
});

describe('the check of commands', () => {
  test('finds a flag that the command lacks, also behind a pipe', () => {
    assert.deepEqual(
      faultsOfCalls('cat x | bin/mixed-version-proxy explain --stdin --nosuch=1 # --not-this'),
      ['explain has no flag --nosuch'],
    );
  });

  test('finds a command that there is not', () => {
    assert.deepEqual(faultsOfCalls('mixed-version-proxy conquer'), ['there is no command conquer']);
  });

  test('leaves the flags of other programs alone', () => {
    assert.deepEqual(
      faultsOfCalls(
        'kubectl get pods --watch && mixed-version-proxy --version; journalctl --unit mixed-version-proxy --since today',
      ),
      [],
    );
  });
});

/** The lines of blocks, each with its number. */
function shownLines(blocks: readonly FencedBlock[]) {
  return blocks.flatMap(({ line, lines }) => lines.map((text, index) => ({ line: line + index + 1, text })));
}
