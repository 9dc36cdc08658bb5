/** A fenced block of a page. */
export interface FencedBlock {
  /** Line of the opening fence, from 1. */
  readonly line: number;
  /** First word behind the fence: `sh`, `console`, `yaml`; empty when there is none. */
  readonly language: string;
  /** The words behind it, which GitHub does not show: what a test does with the block. */
  readonly declarations: readonly string[];
  readonly lines: readonly string[];
}

/** A link, an image, or the source of a picture. */
export interface PageLink {
  readonly line: number;
  readonly target: string;
}

/** Parts of a page written in GitHub's Markdown that the tests look at. */
export interface MarkdownPage {
  readonly blocks: readonly FencedBlock[];
  readonly links: readonly PageLink[];
  /** Anchors that can stand behind `#` in a link to the page. */
  readonly anchors: ReadonlySet<string>;
  /** Everything outside fenced blocks. */
  readonly prose: readonly { readonly line: number; readonly text: string }[];
}

const fence = /^( *)(`{3,})(.*)$/;
const linkForms = [/!?\[(?:[^\][]|\[[^\]]*\])*\]\(([^()\s]+)\)/g, /\b(?:src|srcset|href)="([^"]+)"/g];

/** Pure. @param text the whole page */
export function parseMarkdownPage(text: string): MarkdownPage {
  const blocks: FencedBlock[] = [];
  const prose: { line: number; text: string }[] = [];
  let open: { indent: string; block: FencedBlock; lines: string[] } | undefined;
  for (const [index, content] of text.split('\n').entries()) {
    const line = index + 1;
    const [, indent = '', , info = ''] = fence.exec(content) ?? [];
    if (!fence.test(content)) {
      if (open === undefined) prose.push({ line, text: content });
      else open.lines.push(content.startsWith(open.indent) ? content.slice(open.indent.length) : content);
    } else if (open === undefined) {
      const [language = '', ...declarations] = info.trim().split(/\s+/);
      const lines: string[] = [];
      open = { indent, lines, block: { line, language, declarations, lines } };
    } else {
      blocks.push(open.block);
      open = undefined;
    }
  }
  if (open !== undefined)
    throw new SyntaxError(`the block that begins in line ${open.block.line} has no end`);
  return { blocks, prose, links: prose.flatMap(linksOf), anchors: new Set(prose.flatMap(anchorOf)) };
}

function linksOf({ line, text }: { readonly line: number; readonly text: string }): PageLink[] {
  const outsideCode = text.replace(/`[^`]*`/g, (code) => '`'.padEnd(code.length, ' '));
  return linkForms.flatMap((form) =>
    [...outsideCode.matchAll(form)].flatMap(([, target]) => (target === undefined ? [] : [{ line, target }])),
  );
}

/** The anchor GitHub gives a heading: lower case, punctuation dropped, spaces as hyphens. */
function anchorOf({ text }: { readonly text: string }): string[] {
  const heading = /^#{1,6} +(.+?) *$/.exec(text)?.[1];
  if (heading === undefined) return [];
  const shown = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
  return [shown.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')];
}
