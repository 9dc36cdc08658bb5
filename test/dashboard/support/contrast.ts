import type { Page } from 'playwright-core';

/**
 * Texts and shapes of the page that do not stand out enough from what is behind them: 4.5 to 1 for text, 3 to 1 for
 * shapes that mean something and borders of controls (WCAG 2.2, 1.4.3 and 1.4.11). Computed from the styles in force.
 * The drawings of requests are decoration: tables beside them say the same.
 */
export function contrastFaults(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(${findContrastFaults})()`);
}

/** Runs in the page, so that it must not use anything from around it. */
const findContrastFaults = String.raw`() => {
  const parse = (color) => {
    const [r = 0, g = 0, b = 0, a = 1] = (color.match(/[\d.]+/g) ?? []).map(Number);
    return { r, g, b, a };
  };
  const over = (top, bottom) => ({
    r: top.r * top.a + bottom.r * (1 - top.a),
    g: top.g * top.a + bottom.g * (1 - top.a),
    b: top.b * top.a + bottom.b * (1 - top.a),
    a: 1,
  });
  const groundOf = (element) => {
    if (element === null) return { r: 255, g: 255, b: 255, a: 1 };
    const color = parse(getComputedStyle(element).backgroundColor);
    return color.a === 1 ? color : over(color, groundOf(element.parentElement));
  };
  const luminance = ({ r, g, b }) => {
    const [red, green, blue] = [r, g, b].map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [light, dark] = [luminance(one), luminance(other)].sort((left, right) => right - left);
    return (light + 0.05) / (dark + 0.05);
  };
  const faults = new Set();
  const require = (element, color, ground, least, what) => {
    const found = contrast(over(parse(color), ground), ground);
    if (found < least) {
      faults.add(what + ' of ' + element.localName + '.' + element.getAttribute('class') + ': ' + found.toFixed(2));
    }
  };
  for (const element of document.querySelectorAll('body *')) {
    if (!element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
    if (hasText) require(element, style.color, groundOf(element), 4.5, 'text');
    if (element.localName === 'path' && element.closest('.traffic, .sparkline') === null) require(element, style.fill, groundOf(element), 3, 'shape');
    if (['input', 'select', 'button'].includes(element.localName)) {
      require(element, style.borderColor, groundOf(element.parentElement), 3, 'border');
      require(element, style.color, groundOf(element), 4.5, 'text');
    }
  }
  return [...faults];
}`;
