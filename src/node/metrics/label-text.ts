/** `name="value",…` as both text formats write it. Names and values belong together by their order. */
export function labelText(names: readonly string[], values: readonly string[]): string {
  return names.map((name, index) => `${name}="${escapeLabelValue(values[index] ?? '')}"`).join(',');
}

/**
 * Backslash, line feed and double quote are escaped; everything else stands as it is (Prometheus text format
 * 0.0.4; OpenMetrics 1.0, section "Escaping"). Lone surrogates are no UTF-8.
 */
function escapeLabelValue(value: string): string {
  return value.toWellFormed().replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}
