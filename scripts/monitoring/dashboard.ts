import type { Panel, PanelRow } from './panel.ts';

/** Grafana's grid is 24 wide; four panels stand side by side. */
const panelWidth = 6;
const panelHeight = 8;
// Grafana's own placeholder, for the data source that the reader picks.
const dataSource = { type: 'prometheus', uid: '$datasource' };

/** A Grafana dashboard (schema version 39, which Grafana 11 and newer read) with the panels in their order. Pure. */
export function dashboardOf(rows: readonly PanelRow[]): object {
  return {
    uid: 'mixed-version-proxy',
    title: 'Mixed Version Proxy',
    tags: ['kubernetes', 'mixed-version-proxy'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    templating: { list: variables },
    panels: rows.flatMap(panelsOf),
  };
}

const variables = [
  { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
  choice('job', 'label_values(mixed_version_proxy_build_info, job)'),
  choice('instance', 'label_values(mixed_version_proxy_build_info{job=~"$job"}, instance)'),
];

/** A variable that the reader picks any number of values of. `refresh: 2`: looked up anew for each time range. */
function choice(name: string, query: string): object {
  const everything = { selected: true, text: 'All', value: '$__all' };
  return {
    name,
    type: 'query',
    datasource: dataSource,
    query,
    refresh: 2,
    multi: true,
    includeAll: true,
    current: everything,
  };
}

function panelsOf({ title, panels }: PanelRow, row: number): readonly object[] {
  // A row's heading is one unit high.
  const top = row * (panelHeight + 1);
  const firstId = row * 100 + 1;
  const heading = {
    id: firstId,
    type: 'row',
    title,
    collapsed: false,
    panels: [],
    gridPos: { x: 0, y: top, w: 24, h: 1 },
  };
  return [heading, ...panels.map((panel, column) => graphOf(panel, firstId + 1 + column, column, top + 1))];
}

function graphOf(
  { title, description, unit, queries }: Panel,
  id: number,
  column: number,
  y: number,
): object {
  return {
    id,
    type: 'timeseries',
    title,
    description,
    datasource: dataSource,
    gridPos: { x: column * panelWidth, y, w: panelWidth, h: panelHeight },
    fieldConfig: { defaults: { unit }, overrides: [] },
    options: {
      legend: { displayMode: 'list', placement: 'bottom' },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
    targets: queries.map(({ expression, legend }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource: dataSource,
      expr: expression,
      legendFormat: legend,
    })),
  };
}
