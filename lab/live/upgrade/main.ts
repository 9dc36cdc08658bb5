// Upgrades real kube-apiservers under a load, and counts what clients lose: `npm run lab -- upgrade`.
import { appendFile } from 'node:fs/promises';
import { readOptions } from '../../harness/command-line.ts';
import { markdownTable } from '../../report/text-table.ts';
import { assetsOfEnvironment, type LiveAssets, liveAssetsGuide } from '../cluster/assets.ts';
import { inOwnNetwork } from '../cluster/network.ts';
import { describeFields } from '../loops/field-loop.ts';
import { routerFaults } from './faults.ts';
import { runUpgrade, type UpgradeOutcome, type WayOutcome } from './run-upgrade.ts';
import { binaryOf, parseSteps, stops } from './steps.ts';
import { forms, isRouted, type Way } from './ways.ts';

const values = readOptions('upgrade', {
  forms: {
    type: 'string',
    default: forms.join(','),
    value: 'LIST',
    about: 'of a router; one-version-balancer: HAProxy that shows clients one version, beside the routers',
  },
  stops: {
    type: 'string',
    default: 'SIGTERM,SIGKILL',
    value: 'LIST',
    about: 'how servers end: SIGTERM, SIGKILL, or SIGSTOP, by which they hang for 20 s first',
  },
  'router-faults': {
    type: 'string',
    default: 'none',
    value: 'LIST',
    about: 'trouble of two routers at each step: none, away, restarted, still',
  },
  start: {
    type: 'string',
    value: 'VERSION',
    about: 'of all three servers at first (the oldest that is given)',
  },
  steps: {
    type: 'string',
    value: 'STEPS',
    about:
      'a=1.36,b=1.36,c=1.36 (to the newest that is given); flags behind it: a=1.36@emulated-version=1.36',
  },
  times: { type: 'string', default: '1', value: 'N', about: 'how often' },
  pause: {
    type: 'string',
    default: '20000',
    value: 'MS',
    about: "between a server's return and the next one's end",
  },
  after: { type: 'string', default: '60000', value: 'MS', about: "behind the last one's return" },
  grace: {
    type: 'string',
    default: '30000',
    value: 'MS',
    about: "between SIGTERM and SIGKILL of a server that still has connections: a kubelet's",
  },
  output: { type: 'string', value: 'FILE', about: 'to which each outcome is added, a line of JSON each' },
});

const assets = assetsOfEnvironment();
if (!assets.ok) {
  process.stderr.write(`${assets.problems.join('\n')}\n\n${liveAssetsGuide}\n`);
  process.exitCode = 2;
} else await inOwnNetwork(assets.assets.apiServers, () => runAll(assets.assets));

async function runAll({ etcd, apiServers }: LiveAssets): Promise<void> {
  process.setMaxListeners(0);
  const newest = apiServers.at(-1) ?? apiServers[0];
  const start = values.start === undefined ? apiServers[0] : binaryOf(values.start, apiServers);
  const steps = parseSteps(
    values.steps ?? ['a', 'b', 'c'].map((server) => `${server}=${newest.version}`).join(','),
    apiServers,
    start,
  );
  for (let time = 1; time <= Number(values.times); time++) {
    for (const form of forms.filter((name) => values.forms.split(',').includes(name))) {
      for (const stop of stops.filter((name) => values.stops.split(',').includes(name))) {
        for (const routerFault of routerFaults.filter((name) =>
          values['router-faults'].split(',').includes(name),
        )) {
          const routersToo = routerFault === 'none' ? '' : ` routers ${routerFault},`;
          const title = `${form}, ${stop},${routersToo} ${start.version}, ${steps.map(({ server, binary }) => `${server}=${binary.version}`).join(' ')}`;
          console.log(`\n${title}`);
          const outcome = await runUpgrade({
            form,
            stop,
            routerFault,
            etcd,
            start,
            steps,
            pause: Number(values.pause),
            after: Number(values.after),
            grace: Number(values.grace),
            tell: (line) => console.log(line),
          });
          report(outcome);
          if (values.output !== undefined) {
            await appendFile(values.output, `${JSON.stringify({ title, ...figuresOf(outcome) })}\n`);
          }
          for (const [way, { fields, served, mutated }] of outcome.ways) {
            // Without a router, faults are what is to be shown.
            if (!isRouted(way)) continue;
            const { lost, hidden } = fields.counts;
            if (lost + hidden + served.counts.wrongNotFound + mutated.counts.evaded > 0) process.exitCode = 1;
          }
        }
      }
    }
  }
}

function report({ ways, known }: UpgradeOutcome): void {
  const rows: [string, (outcome: WayOutcome) => string][] = [
    ['objects stored with the field', ({ fields }) => `${fields.counts.stored}`],
    ['of these, lost it', ({ fields }) => `${fields.counts.lost}`],
    ['reads that did not show it', ({ fields }) => `${fields.counts.hidden}`],
    ['lost or hidden as the preferred version went back', ({ fields }) => `${fields.counts.turned}`],
    ['writes under the policy', ({ mutated }) => `${mutated.counts.writes}`],
    ['of these, evaded it', ({ mutated }) => `${mutated.counts.evaded}`],
    ['mutated before the policy was on', ({ mutated }) => `${mutated.counts.early}`],
    ['lists', ({ served }) => `${served.counts.requests}`],
    ['of these, a wrong 404', ({ served }) => `${served.counts.wrongNotFound}`],
    ['other codes', (outcome) => codesOf(outcome)],
  ];
  const names = [...ways.keys()];
  console.log(
    markdownTable([
      ['', ...names],
      ...rows.map(([title, cell]) => [title, ...[...ways.values()].map((outcome) => cell(outcome))]),
    ]),
  );
  for (const [name, { fields, served, mutated }] of ways) {
    console.log(`fields, ${name}: ${describeFields(fields)}`);
    for (const [what, times] of [...served.counts.others, ...mutated.counts.others]) {
      console.log(`${name}: ${what} ×${times}`);
    }
  }
  for (const { step, routers } of known) {
    console.log(
      `${step}: ${routers.map(({ router, version, decision }) => `${router} ${version}/${decision} ms`).join(', ')}`,
    );
  }
}

function codesOf({ served, mutated }: WayOutcome): string {
  const codes = new Map<string, number>();
  for (const [what, times] of [...served.counts.others, ...mutated.counts.others]) {
    const code = what.split(' ')[0] ?? what;
    codes.set(code, (codes.get(code) ?? 0) + times);
  }
  return [...codes].map(([code, times]) => `${code} ×${times}`).join(', ');
}

function figuresOf({ ways, known }: UpgradeOutcome) {
  const figures = [...ways].map(([name, { fields, served, mutated }]): [Way['name'], object] => [
    name,
    {
      fields: { ...fields.counts, failures: Object.fromEntries(fields.failures) },
      served: { ...served.counts, others: Object.fromEntries(served.counts.others) },
      mutated: { ...mutated.counts, others: Object.fromEntries(mutated.counts.others) },
    },
  ]);
  return { ways: Object.fromEntries(figures), known };
}
