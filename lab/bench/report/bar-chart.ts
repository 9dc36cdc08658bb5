import type { Spread } from '../../harness/statistics.ts';
import { figure } from '../../report/format.ts';
import { element, escapeXml, svgDocument, tenths } from '../../report/svg-text.ts';

/** One bar; `emphasized` for the one that the chart is about. */
export interface Bar {
  readonly label: string;
  readonly spread: Spread;
  readonly emphasized: boolean;
}

/** Bars that share an axis, one below the other. */
export interface Panel {
  readonly title: string;
  readonly unit: string;
  readonly bars: readonly Bar[];
}

const width = 860;
const labelWidth = 290;
const valueWidth = 90;
const barHeight = 16;
const rowHeight = 26;
const titleHeight = 44;
const margin = 20;

/** Readable on light and on dark pages: the reader's setting chooses, and nothing is painted behind. */
const style = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .title { font-weight: 600; font-size: 15px; }
  .unit, .value { fill: #59636e; }
  .bar { fill: #8c959f; }
  .emphasized { fill: #0969da; }
  .spread { stroke: #1f2328; stroke-width: 1.5; }
  .axis { stroke: #8c959f; stroke-width: 1; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .unit, .value { fill: #9da7b3; }
    .bar { fill: #6e7681; }
    .emphasized { fill: #4493f8; }
    .spread { stroke: #e6edf3; }
    .axis { stroke: #6e7681; }
  }`;

/** An SVG document of horizontal bars, shortest first, with a line from the least to the greatest value measured. */
export function barChart(description: string, panels: readonly Panel[]): string {
  let top = margin;
  const drawn = panels.map((panel) => {
    const lines = drawPanel(panel, top);
    top += titleHeight + panel.bars.length * rowHeight + margin;
    return lines;
  });
  return svgDocument({ width, height: top, description, style }, drawn.flat());
}

function drawPanel({ title, unit, bars }: Panel, top: number): string[] {
  const sorted = bars.toSorted((one, other) => one.spread.median - other.spread.median);
  const longest = Math.max(...sorted.map(({ spread }) => spread.maximum), Number.MIN_VALUE);
  const scale = (width - labelWidth - valueWidth - margin) / longest;
  const base = top + titleHeight;
  const heading = escapeXml(title) + element('tspan', { class: 'unit', dx: 8 }, escapeXml(unit));
  return [
    element('text', { class: 'title', x: margin, y: top + 18 }, heading),
    ...sorted.flatMap((bar, index) => drawBar(bar, base + index * rowHeight, scale)),
    element('line', {
      class: 'axis',
      x1: labelWidth,
      x2: labelWidth,
      y1: base - 6,
      y2: base + sorted.length * rowHeight - 4,
    }),
  ];
}

function drawBar({ label, spread, emphasized }: Bar, top: number, scale: number): string[] {
  const { median, minimum, maximum } = spread;
  const at = (value: number): number => tenths(labelWidth + value * scale);
  const middle = top + barHeight / 2;
  const baseline = top + barHeight - 4;
  return [
    element('text', { x: labelWidth - 10, y: baseline, 'text-anchor': 'end' }, escapeXml(label)),
    element('rect', {
      class: emphasized ? 'bar emphasized' : 'bar',
      x: labelWidth,
      y: top,
      width: tenths(median * scale),
      height: barHeight,
      rx: 2,
    }),
    element('line', { class: 'spread', x1: at(minimum), x2: at(maximum), y1: middle, y2: middle }),
    element('text', { class: 'value', x: at(maximum) + 8, y: baseline }, figure(median)),
  ];
}
