import type { RoutingTable } from './routing-table.ts';

const tablesLedBy = new WeakMap<RoutingTable, RoutingTable>();

/** The same table, whose documents speak for the servers of one minor version. Made once for each table and version. */
export function ledBy(table: RoutingTable, minor: string): RoutingTable {
  const known = tablesLedBy.get(table);
  if (known?.leadingMinor === minor) return known;
  const made = Object.freeze({ ...table, leadingMinor: minor });
  tablesLedBy.set(table, made);
  return made;
}
