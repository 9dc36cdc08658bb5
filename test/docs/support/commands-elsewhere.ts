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

export const commandsElsewhere: readonly Row[] = [
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
  { command: /mixed-version-proxy serve --gateway/, test: 'test/live/live.slow.test.ts' },
  { command: /mixed-version-proxy serve/, test: 'test/found-settings.test.ts' },
  // kubectl and helm.
  { command: /kubectl .*6444 .*get nodes/, test: 'test/docs/emergency.test.ts' },
  { command: /kubectl config /, test: 'test/docs/certificates-page.test.ts' },
  { command: /kubectl .*patch endpoints/, test: 'test/install-kubeadm.test.ts' },
  {
    command: /kubectl (?:apply|delete) -f deploy\/kubernetes\/pods-/,
    test: 'test/deploy/pods-through-router.test.ts',
  },
  { command: /kubectl (?:apply|delete) -f deploy\//, test: 'test/live/live.slow.test.ts' },
  { command: /kubectl get --raw/, test: 'test/live/live.slow.test.ts' },
  { command: /kubectl (?:api-resources|auth whoami)/, test: 'test/e2e/kubectl.test.ts' },
  { command: /helm (?:install|upgrade)/, test: 'test/live/chart.slow.test.ts' },
  { command: /kubectl/, why: "A call of kubectl alone, of the operator's cluster." },
  // Certificates.
  { command: /openssl (?:req|x509 -req)|reader\.(?:ext|csr)/, test: 'test/docs/certificates-page.test.ts' },
  { command: /openssl/, why: "It looks at the operator's own certificates." },
  { command: /kubeadm (?:upgrade|certs)/, why: 'It needs kubeadm: test/live/install upgrades with it.' },
  // Builds and suites.
  { command: /npm run package/, test: 'test/package/package.slow.test.ts' },
  { command: /npm run (?:dev:edge|edge:workerd)|KUBECONFIG=\.demo/, test: 'test/e2e/edge.test.ts' },
  { command: /npm run build:worker/, test: 'test/worker/wrangler.test.ts' },
  { command: /npm start -- --upgrade/, test: 'test/demo/upgrade.slow.test.ts' },
  { command: /npm start/, test: 'test/e2e/demo.test.ts' },
  { command: /npm install --global/, why: ofHost },
  {
    command: /npm|MIXED_VERSION_PROXY_LIVE_ASSETS/,
    why: 'It runs the tests themselves, or measures for minutes.',
  },
  { command: /docker/, why: 'It needs a container engine: test/live/image builds and runs the image.' },
  { command: /wrangler secret/, why: 'It needs an account at Cloudflare.' },
  // The machine.
  { command: /sed .*kube-apiserver\.yaml/, test: 'test/docs/emergency.test.ts' },
  { command: /haproxy/, why: `${ofHost} test/live/install switches a HAProxy.` },
  {
    command:
      /^(?:sudo -u \S+ )?(?:chgrp|chmod|cp|crictl|curl|date|done|for|install|journalctl|jq|mv|rm|setfacl|systemctl|useradd|while)\b/,
    why: ofHost,
  },
];
