/** Cells of a table: the first row holds the headings. */
export type Rows = readonly (readonly string[])[];

/** A Markdown table; the first column stands left, all others right. */
export function markdownTable(rows: Rows): string {
  const [headings = [], ...body] = rows;
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const rule = headings.map((_, column) => (column === 0 ? '---' : '---:'));
  return [line(headings), `|${rule.join('|')}|`, ...body.map(line)].join('\n');
}

/** The same for a terminal, in columns. */
export function terminalTable(rows: Rows): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
