/** Text as it may stand in SVG, attribute values included. */
export function escapeXml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
  };
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? character);
}

/**
 * An element on one line; attributes in the order given.
 * @param content SVG text, escaped already.
 */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  content?: string,
): string {
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeXml(String(value))}"`)
    .join('');
  return content === undefined ? `<${name}${written}/>` : `<${name}${written}>${content}</${name}>`;
}

/** A whole document, on lines of their own what it draws. */
export function svgDocument(
  { width, height, description, style }: SvgDocument,
  content: readonly string[],
): string {
  const root = {
    xmlns: 'http://www.w3.org/2000/svg',
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: 'img',
    'aria-label': description,
  };
  const lines = [element('title', {}, escapeXml(description)), element('style', {}, style), ...content];
  return `${element('svg', root, `\n${lines.join('\n')}\n`)}\n`;
}

interface SvgDocument {
  readonly width: number;
  readonly height: number;
  /** For readers who do not see it. */
  readonly description: string;
  readonly style: string;
}

/** Tenths: what a coordinate can mean. */
export function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}
