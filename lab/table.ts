/** Something that the laboratory finds out: `npm run lab -- <name> [options]`. */
export interface Experiment {
  readonly name: string;
  /** From this folder. */
  readonly module: string;
  readonly question: string;
}

export interface Bench {
  readonly title: string;
  readonly experiments: readonly Experiment[];
}

/** All that there is, as `npm run lab` prints it. */
export const laboratory: readonly Bench[] = [
  {
    title: 'Real API servers (MIXED_VERSION_PROXY_LIVE_ASSETS: lab/README.md)',
    experiments: [
      {
        name: 'live',
        module: 'live/run.ts',
        question: 'Does every promise hold in front of kube-apiservers of two versions?',
      },
      {
        name: 'upgrade',
        module: 'live/upgrade/main.ts',
        question: 'What do clients lose while every server is upgraded?',
      },
      {
        name: 'controllers',
        module: 'live/controllers/main.ts',
        question: 'Does kube-controller-manager get its work done while servers go and come?',
      },
      {
        name: 'clients',
        module: 'live/clients/main.ts',
        question: 'Do client-go, Python, Java, JavaScript and Helm live through an upgrade?',
      },
      {
        name: 'install',
        module: 'live/install/main.ts',
        question: 'Can routers be installed on three nodes of kubeadm, upgraded with them, and removed?',
      },
      {
        name: 'e2e',
        module: 'live/e2e/main.ts',
        question: "Which of Kubernetes' own tests pass by each way into a cluster?",
      },
      {
        name: 'image',
        module: 'live/image/image.slow.test.ts',
        question: 'Does the container image run with the rights of the manifests?',
      },
      {
        name: 'reading',
        module: 'measure/cluster-reading.ts',
        question: 'What does reading the cluster cost its API servers?',
      },
      {
        name: 'record',
        module: 'live/record/main.ts',
        question: 'How does what two versions serve differ? Writes what `doctor --upgrade-to` knows.',
      },
    ],
  },
  {
    title: 'Speed and memory (lab/bench/README.md)',
    experiments: [
      {
        name: 'bench',
        module: 'bench/throughput/main.ts',
        question: 'What do CPU time, throughput and latency cost beside other proxies?',
      },
      { name: 'quick', module: 'bench/quick/main.ts', question: 'Has the router become slower?' },
      { name: 'watches', module: 'bench/watches/main.ts', question: 'What does an idle watch cost?' },
      {
        name: 'report',
        module: 'bench/report/main.ts',
        question: 'Writes the tables and the plot of what has been recorded.',
      },
      {
        name: 'idle',
        module: 'measure/idle-router.ts',
        question: 'What does a router cost that nobody asks?',
      },
      {
        name: 'worker',
        module: 'measure/worker.ts',
        question: 'What do the first request of a Worker, and those after it, cost?',
      },
      {
        name: 'snapshot',
        module: 'measure/snapshot.ts',
        question: 'What does a snapshot of a large cluster cost to make, sign, read and hold?',
      },
      {
        name: 'arriving',
        module: 'measure/arriving-snapshots.ts',
        question: 'What do clients notice while snapshots arrive?',
      },
      {
        name: 'sync',
        module: 'measure/sync-latency.ts',
        question: 'How long after a change do routers know of the change?',
      },
    ],
  },
  {
    title: 'Endurance',
    experiments: [
      {
        name: 'floods',
        module: 'floods/main.ts',
        question: 'What do floods do to memory, and to honest clients?',
      },
      {
        name: 'soak',
        module: 'measure/soak.ts',
        question: 'Do memory and sockets of a router go on growing?',
      },
    ],
  },
  {
    title: 'The tests themselves',
    experiments: [
      { name: 'mutate', module: 'mutate/main.ts', question: 'Do tests and fuzzing notice planted faults?' },
      {
        name: 'conformance',
        module: '../test/conformance/report.ts',
        question: 'What holds on which runtime? `--write` writes the answers down.',
      },
    ],
  },
];
