import { element, escapeXml, svgDocument, tenths } from '../../report/svg-text.ts';

/** What was measured over time, drawn below one another with the same seconds above one another. */
export interface TimePanel {
  readonly title: string;
  readonly unit: string;
  /** Highest value of the vertical axis. */
  readonly top: number;
  /** Bars stand on each other; lines are drawn each by itself. */
  readonly kind: 'bars' | 'lines';
  readonly series: readonly TimeSeries[];
  /** Stretches of time in which something was done. */
  readonly spans?: readonly TimeSpan[];
}

interface TimeSeries {
  /** Of the style below. */
  readonly color: TimeColor;
  readonly points: readonly { readonly at: number; readonly value: number }[];
}

export interface TimeSpan {
  readonly from: number;
  readonly until: number;
  readonly label: string;
}

export type TimeColor = 'first' | 'second' | 'third' | 'fourth';

interface TimeChart {
  /** For readers who do not see it. */
  readonly description: string;
  readonly seconds: number;
  readonly legend: readonly { readonly color: TimeColor; readonly label: string }[];
  readonly panels: readonly TimePanel[];
}

const width = 860;
const left = 56;
const right = 20;
const legendHeight = 34;
const titleHeight = 30;
const plotHeight = 96;
const panelGap = 22;
const axisHeight = 36;

/** Readable on light and on dark pages, as the other charts. */
const style = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .title { font-weight: 600; }
  .unit, .tick, .label { fill: #59636e; }
  .tick, .label { font-size: 11px; }
  .axis { stroke: #8c959f; stroke-width: 1; }
  .grid { stroke: #8c959f; stroke-width: 1; opacity: 0.25; }
  .span { fill: #8c959f; opacity: 0.2; }
  .first { fill: #cf222e; stroke: #cf222e; }
  .second { fill: #bf8700; stroke: #bf8700; }
  .third { fill: #0969da; stroke: #0969da; }
  .fourth { fill: #8250df; stroke: #8250df; }
  rect.first, rect.second, rect.third, rect.fourth { stroke: none; }
  polyline.first, polyline.second, polyline.third, polyline.fourth { fill: none; stroke-width: 1.5; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .unit, .tick, .label { fill: #9da7b3; }
    .axis, .grid { stroke: #6e7681; }
    .first { fill: #ff7b72; stroke: #ff7b72; }
    .second { fill: #d29922; stroke: #d29922; }
    .third { fill: #4493f8; stroke: #4493f8; }
    .fourth { fill: #ab7df8; stroke: #ab7df8; }
  }`;

/** An SVG document. */
export function timeChart({ description, seconds, legend, panels }: TimeChart): string {
  const scale = (width - left - right) / seconds;
  const panelHeight = titleHeight + plotHeight + panelGap;
  const height = legendHeight + panels.length * panelHeight + axisHeight;
  const content = [
    ...drawLegend(legend),
    ...panels.flatMap((panel, index) => drawPanel(panel, legendHeight + index * panelHeight, scale, seconds)),
    ...drawSeconds(seconds, scale, height - axisHeight - panelGap + 16),
  ];
  return svgDocument({ width, height, description, style }, content);
}

function drawLegend(legend: TimeChart['legend']): string[] {
  let x = left;
  return legend.flatMap(({ color, label }) => {
    const at = x;
    x += 40 + label.length * 7;
    return [
      element('rect', { class: color, x: at, y: 10, width: 12, height: 12, rx: 2 }),
      element('text', { x: at + 18, y: 21 }, escapeXml(label)),
    ];
  });
}

function drawPanel(panel: TimePanel, top: number, scale: number, seconds: number): string[] {
  const { title, unit, spans = [] } = panel;
  const base = top + titleHeight + plotHeight;
  const x = (at: number): number => tenths(left + at * scale);
  const y = (value: number): number => tenths(base - (Math.min(value, panel.top) / panel.top) * plotHeight);
  const heading = escapeXml(title) + element('tspan', { class: 'unit', dx: 8 }, escapeXml(unit));
  const end = x(seconds);
  return [
    element('text', { class: 'title', x: left, y: top + 18 }, heading),
    ...spans.flatMap(({ from, until, label }) => [
      element('rect', {
        class: 'span',
        x: x(from),
        y: y(panel.top),
        width: tenths((until - from) * scale),
        height: plotHeight,
      }),
      element('text', { class: 'label', x: x(from) + 2, y: y(panel.top) + 11 }, escapeXml(label)),
    ]),
    ...[0.5, 1].flatMap((share) => [
      element('line', {
        class: 'grid',
        x1: left,
        x2: end,
        y1: y(panel.top * share),
        y2: y(panel.top * share),
      }),
      element(
        'text',
        { class: 'tick', x: left - 6, y: y(panel.top * share) + 4, 'text-anchor': 'end' },
        (panel.top * share).toLocaleString('en-US'),
      ),
    ]),
    ...(panel.kind === 'bars' ? drawBars(panel, x, y, scale) : drawLines(panel, x, y)),
    element('line', { class: 'axis', x1: left, x2: end, y1: base, y2: base }),
  ];
}

type Place = (value: number) => number;

/** One bar a second, the series on top of each other. */
function drawBars({ series }: TimePanel, x: Place, y: Place, scale: number): string[] {
  const below = new Map<number, number>();
  return series.flatMap(({ color, points }) =>
    points.map(({ at, value }) => {
      const from = below.get(at) ?? 0;
      below.set(at, from + value);
      const size = tenths(y(from) - y(from + value));
      const bar = { class: color, x: x(at), y: y(from + value), width: tenths(Math.max(scale - 1, 1)) };
      return element('rect', { ...bar, height: size });
    }),
  );
}

function drawLines({ series }: TimePanel, x: Place, y: Place): string[] {
  return series.map(({ color, points }) =>
    element('polyline', {
      class: color,
      points: points.map(({ at, value }) => `${x(at)},${y(value)}`).join(' '),
    }),
  );
}

function drawSeconds(seconds: number, scale: number, y: number): string[] {
  const step = [5, 10, 20, 60, 120, 240, 600].find((candidate) => seconds / candidate <= 12) ?? 1200;
  const ticks = Array.from({ length: Math.floor(seconds / step) + 1 }, (_, index) => index * step);
  const name = step >= 60 ? (at: number) => `${at / 60} min` : (at: number) => `${at} s`;
  return ticks.map((at) =>
    element('text', { class: 'tick', x: tenths(left + at * scale), y, 'text-anchor': 'middle' }, name(at)),
  );
}

/** A round number not below `value`. */
export function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return ([1, 2, 3, 4, 5, 6, 8, 10].find((factor) => factor * power >= value) ?? 10) * power;
}
