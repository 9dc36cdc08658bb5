import type { Sample, SoakResults } from './soak-results.ts';
import { roundUp, type TimePanel, timeChart } from './time-chart.ts';

const drawn = [
  { what: 'resident', title: 'Memory', unit: 'MiB resident, all routers', color: 'third' },
  {
    what: 'heap',
    title: 'JavaScript heap',
    unit: 'MiB alive after garbage collection, all routers',
    color: 'second',
  },
  { what: 'sockets', title: 'Sockets', unit: 'open, all routers', color: 'first' },
] as const;

/** Memory and sockets of the routers over the time of the soak. */
export function soakChart({ samples, watches, minutes }: SoakResults): string {
  return timeChart({
    description: `Memory and sockets of the routers over ${minutes} minutes with ${watches} watches`,
    seconds: Math.max(samples.at(-1)?.at ?? 0, 1),
    legend: [],
    panels: drawn.map(
      ({ what, title, unit, color }): TimePanel => ({
        title,
        unit,
        top: roundUp(Math.max(...samples.map((sample: Sample) => sample[what]))),
        kind: 'lines',
        series: [{ color, points: samples.map((sample) => ({ at: sample.at, value: sample[what] })) }],
      }),
    ),
  });
}
