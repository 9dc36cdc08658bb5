/** Where the CPU time of a request goes, in the router and in its rivals. `npm run bench:profile`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { writeGenerated } from '../../generate/generated-file.ts';
import { withCleanup } from '../../harness/cleanup.ts';
import { countFrom, namesFrom, runMainWithOptions } from '../../harness/command-line.ts';
import { writeResults } from '../../harness/results-file.ts';
import { median, significant } from '../../harness/statistics.ts';
import { terminalTable } from '../../report/text-table.ts';
import { type Bench, openBench } from '../open-bench.ts';
import { benchReport } from '../report/bench-report.ts';
import { type ContenderName, contenderNames } from '../rivals/contender.ts';
import { type RunningContender, startContender } from '../rivals/running-contender.ts';
import { measureWorkload } from '../throughput/measure-workload.ts';
import { type Workload, type WorkloadName, workloadNames, workloads } from '../throughput/workloads.ts';
import { sampleProcess } from './perf.ts';
import { type Sample, sharesOf } from './places.ts';
import { type ProfileFigures, type ProfileResults, profileResultsSchema } from './profile-results.ts';
import { profileRows } from './profile-table.ts';

const usage = `npm run bench:profile -- [options]
  --passes N       of two seconds, of each contender (4)
  --workload LIST  figures of others than the usual ones are shown, not recorded (http1-get, http2-get)
  --only LIST      contenders; figures are then shown, not recorded (router, nginx, go)`;

const usualWorkloads: readonly WorkloadName[] = ['http1-get', 'http2-get'];
const usualContenders: readonly ContenderName[] = ['router', 'nginx', 'go'];

/** Seconds: compiled code and open connections, what is looked at, and what the generator needs around it. */
const pass = { firstWarmUp: 12, warmUp: 1, looks: 2, around: 0.3 } as const;

await runMainWithOptions(
  usage,
  {
    passes: { type: 'string', default: '4' },
    workload: { type: 'string' },
    only: { type: 'string' },
  },
  async ({ passes: asked, workload, only }) => {
    const passes = countFrom('passes', asked);
    const names = only === undefined ? usualContenders : namesFrom('only', only, contenderNames);
    const chosen = workload === undefined ? usualWorkloads : namesFrom('workload', workload, workloadNames);
    const results = await withCleanup(async (cleanup): Promise<ProfileResults> => {
      const { bench, entrants, measurement } = await openBench(names, cleanup);
      const { workbench, cores, backend } = bench;
      const running: RunningContender[] = [];
      for (const { contender } of entrants) {
        const environment = { workbench, servers: backend.servers, core: cores.proxy, cleanup };
        running.push(await startContender(contender, environment));
      }
      const measured: ProfileResults['workloads'] = [];
      for (const each of workloads.filter(({ name }) => chosen.includes(name))) {
        console.log(each.title);
        measured.push({ name: each.name, contenders: await profileAll(each, running, passes, bench) });
      }
      return { kind: 'profile', ...measurement, workloads: measured };
    });
    for (const one of results.workloads) {
      console.log(`\n${one.name}\n${terminalTable(profileRows(one))}`);
    }
    if (only !== undefined || workload !== undefined) return 0;
    await writeResults('profile', profileResultsSchema, results);
    await writeGenerated(benchReport);
    return 0;
  },
);

/** What has a process to look at. */
type Proxy = RunningContender & { readonly pid: number };

function isProxy(contender: RunningContender): contender is Proxy {
  return contender.pid !== undefined;
}

/** One contender after the other, pass by pass, so that what is compared lies close together in time. */
async function profileAll(
  workload: Workload,
  running: readonly RunningContender[],
  passes: number,
  bench: Bench,
): Promise<Partial<Record<ContenderName, ProfileFigures>>> {
  const proxies = running.filter(isProxy);
  const samples = new Map(proxies.map(({ name }) => [name, [] as Sample[]]));
  const cpuTimes = new Map(proxies.map(({ name }) => [name, [] as number[]]));
  for (const proxy of proxies) {
    await measureWorkload(workload, proxy, { ...bench, warmUp: 0, seconds: pass.firstWarmUp });
  }
  for (let turn = 0; turn < passes; turn++) {
    for (const proxy of turn % 2 === 0 ? proxies : proxies.toReversed()) {
      const load = { ...bench, warmUp: pass.warmUp, seconds: pass.looks + 2 * pass.around };
      const [{ cpuTimePerRequest }, seen] = await Promise.all([
        measureWorkload(workload, proxy, load),
        sleep((pass.warmUp + pass.around) * 1_000).then(() =>
          sampleProcess(proxy.pid, pass.looks, bench.workbench),
        ),
      ]);
      cpuTimes.get(proxy.name)?.push(cpuTimePerRequest);
      samples.get(proxy.name)?.push(...seen);
    }
  }
  return Object.fromEntries(
    proxies.map(({ name }): [ContenderName, ProfileFigures] => {
      const seen = samples.get(name) ?? [];
      return [
        name,
        {
          cpuTimePerRequest: significant(median(cpuTimes.get(name) ?? [])),
          shares: sharesOf(seen),
          samples: seen.length,
        },
      ];
    }),
  );
}
