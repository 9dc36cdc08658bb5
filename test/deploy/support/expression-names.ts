/** What a PromQL expression names. */
export interface ExpressionNames {
  /** Metrics, histograms without `_bucket`, `_sum` and `_count`. */
  readonly metrics: readonly string[];
  /** Labels in selectors and after `by` and `on`. */
  readonly labels: readonly string[];
}

const words: ReadonlySet<string> = new Set(['by', 'and', 'or', 'unless', 'on', 'ignoring', 'bool']);

/** For the expressions of this repository: no `without`, `@`, `offset` or `label_replace`. `promtool` checks the syntax. */
export function namesIn(expression: string): ExpressionNames {
  const labels: string[] = [];
  const rest = expression
    .replace(/\[[^\]]*\]/g, ' ')
    .replace(/\{([^}]*)\}/g, (_, selector: string) => {
      for (const [, label = ''] of selector.matchAll(/(\w+)\s*(?:=~|!=|!~|=)\s*"[^"]*"/g)) labels.push(label);
      return ' ';
    })
    .replace(/\b(?:by|on)\s*\(([^)]*)\)/g, (_, list: string) => {
      labels.push(...(list.match(/\w+/g) ?? []));
      return ' ';
    });
  const metrics = [...rest.matchAll(/\b([a-z_]\w*)\b(?!\s*\()/gi)].map(([, name = '']) => name);
  return { metrics: metrics.filter((name) => !words.has(name)), labels };
}
