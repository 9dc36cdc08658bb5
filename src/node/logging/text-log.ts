const letters: Readonly<Record<string, string>> = { debug: 'D', info: 'I', warn: 'W', error: 'E' };

/** Turns one JSON log line into one line of text: level and time, message, then `name=value` pairs. */
export function textLine(json: string): string {
  const { level, ts, msg, v: _, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const time = new Date(Number(ts)).toISOString();
  const pairs = Object.entries(fields).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  return `${letters[String(level)] ?? '?'} ${time} ${JSON.stringify(msg)}${pairs.join('')}\n`;
}
